package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/spf13/pflag"
	"golang.org/x/sys/unix"
)

// Output says in which form a command writes what it was asked for.
type Output struct{ Format string }

// forms are all that an output can have; not every command has each of them.
var forms = []string{"table", "wide", "json", "name"}

// AddFlag adds --output and --json.
func (o *Output) AddFlag(f *pflag.FlagSet) {
	o.Format = "table"
	FormatVar(f, &o.Format, forms...)
}

// FormatVar adds --output, which takes one of the words, some of forms, and --json for -o json.
func FormatVar(f *pflag.FlagSet, format *string, words ...string) {
	ChoiceVar(f, format, "output", "o", "form of the output", words...)
	JSONVar(f, format)
	f.Lookup("json").Usage = "the same as -o json"
	_ = f.SetAnnotation("output", sameAs, []string{"json"}) // fails for a name that is none
	_ = f.SetAnnotation("json", sameAs, []string{"output"})
	_ = f.SetAnnotation("output", ofOthers, forms)
}

// JSONVar adds --json, by which *format becomes "json".
func JSONVar(f *pflag.FlagSet, format *string) {
	f.Var(jsonFlag{format}, "json", "write JSON")
	f.Lookup("json").NoOptDefVal = "true"
}

type jsonFlag struct{ format *string }

func (jsonFlag) Type() string     { return "bool" }
func (jsonFlag) String() string   { return "" }
func (jsonFlag) IsBoolFlag() bool { return true }
func (j jsonFlag) Set(text string) error {
	yes, err := strconv.ParseBool(text)
	if err != nil {
		return fmt.Errorf("%q is not true or false", text)
	}
	if yes {
		*j.format = "json"
	}
	return nil
}

// Dash is s, and "-" in place of nothing.
func Dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Write writes v as JSON, or the names, one a line, or the table, whichever was asked for.
func (o Output) Write(w io.Writer, v any, names []string, table func() error) error {
	switch o.Format {
	case "json":
		return WriteJSON(w, v)
	case "name":
		for _, name := range names {
			if _, err := fmt.Fprintln(w, name); err != nil {
				return err
			}
		}
		return nil
	default:
		return table()
	}
}

// CatchBrokenPipe has a write into a pipe that nobody reads any more fail, as one onto a full
// disk does. It ends the process otherwise, before a command can make good that what it
// writes is lost.
func CatchBrokenPipe() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// Unread is closed when nobody can read any more what is written to w, a pipe or a socket: whoever
// writes but now and then notices no sooner than at the next write. It is nil where w is another
// thing.
func Unread(w io.Writer) <-chan struct{} {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0 {
		return nil
	}
	fds := []unix.PollFd{{Fd: int32(f.Fd())}} // without events: errors and the end are told of anyway
	unread := make(chan struct{})
	go func() { // ends with the reader, or with the process
		_, err := unix.Poll(fds, -1)
		for errors.Is(err, unix.EINTR) {
			_, err = unix.Poll(fds, -1)
		}
		if err == nil && fds[0].Revents&unix.POLLNVAL == 0 {
			close(unread)
		}
	}()
	return unread
}

// WriteResult writes v if the format is JSON, and else text.
func WriteResult(w io.Writer, format string, v any, text string) error {
	if format == "json" {
		return WriteJSON(w, v)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}

// WriteJSON writes v for people and programs alike.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
