package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/pflag"
)

// DidYouMean is a part of a sentence that offers the candidate nearest to word,
// or nothing where none is near.
func DidYouMean(word string, candidates []string) string {
	best, bestDistance := "", 1+max(1, len(word)/3)
	for _, c := range candidates {
		if d := distance(word, c); d < bestDistance {
			best, bestDistance = c, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf(", did you mean %q?", best)
}

// distance counts the bytes to insert, delete, replace or swap with their
// neighbour to make b of a (optimal string alignment).
func distance(a, b string) int {
	before, last := make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row := make([]int, len(b)+1)
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}

// switchWords are the words that somebody may write behind a switch, and what its value is then.
var switchWords = map[string]string{
	"true": "true", "1": "true", "yes": "true", "on": "true", "false": "false", "0": "false", "no": "false", "off": "false",
}

// asValue is a part of a sentence about too many arguments. It tells of the first among them that
// stands behind a switch as if it were its value, or is nothing. words are all of the command line.
func asValue(flags *pflag.FlagSet, args, words []string) string {
	i := behindSwitch(flags, args, words, func(word string) bool { return switchWords[word] != "" })
	if i == 0 {
		return ""
	}
	return fmt.Sprintf("; if %q is a value, write %s=%s", words[i], words[i-1], switchWords[strings.ToLower(words[i])])
}

// refuseValue refuses what would be taken for a name and can hardly be meant as one: true or false
// right behind a switch. The other words for yes and no are names that a script may well give, as
// one that counts does.
func refuseValue(flags *pflag.FlagSet, args, words []string) error {
	i := behindSwitch(flags, args, words, func(word string) bool { return word == "true" || word == "false" })
	if i == 0 {
		return nil
	}
	return Usagef("%q would be a name here, not the value of %[2]s: write %[2]s=%[3]s, or put the name before %[2]s",
		words[i], words[i-1], strings.ToLower(words[i]))
}

// behindSwitch is the place in words of the first of args that is such a word and stands right
// behind a switch, 0 if there is none. It looks no further than the first --.
func behindSwitch(flags *pflag.FlagSet, args, words []string, such func(string) bool) int {
	for i := 1; i < len(words) && words[i-1] != "--"; i++ {
		if such(strings.ToLower(words[i])) && slices.Contains(args, words[i]) && endsWithSwitch(flags, words[i-1]) {
			return i
		}
	}
	return 0
}

// endsWithSwitch says whether the last flag of word, such as --all or -qn, takes no value of its own.
func endsWithSwitch(flags *pflag.FlagSet, word string) bool {
	isSwitch := func(f *pflag.Flag) bool { return f != nil && f.NoOptDefVal != "" }
	if name, long := strings.CutPrefix(word, "--"); long {
		return isSwitch(flags.Lookup(name))
	}
	letters, short := strings.CutPrefix(word, "-")
	for _, letter := range letters {
		if letter >= utf8.RuneSelf || !isSwitch(flags.ShorthandLookup(string(letter))) {
			return false
		}
	}
	return short && letters != ""
}
