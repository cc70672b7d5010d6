package web

import (
	"html/template"
	"regexp"
	"strings"
)

var (
	inlineCode = regexp.MustCompile("`([^`]+)`")
	inlineBold = regexp.MustCompile(`\*\*([^*]+)\*\*`)
)

// prose makes HTML of the Markdown that the document uses: paragraphs, tables,
// `code` and **bold**.
func prose(text string) template.HTML {
	var out strings.Builder
	for block := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		switch {
		case block == "":
		case strings.HasPrefix(block, "|"):
			writeTable(&out, block)
		default:
			out.WriteString("<p>" + string(inline(block)) + "</p>\n")
		}
	}
	return template.HTML(out.String()) // inline has escaped it
}

// inline is prose of one paragraph.
func inline(text string) template.HTML {
	s := template.HTMLEscapeString(strings.TrimSpace(text))
	s = inlineCode.ReplaceAllString(s, "<code>$1</code>")
	return template.HTML(inlineBold.ReplaceAllString(s, "<strong>$1</strong>")) // escaped above
}

// writeTable leaves out the second line, which only says that the first is the head.
func writeTable(out *strings.Builder, block string) {
	out.WriteString("<table>\n")
	for i, line := range strings.Split(block, "\n") {
		if i == 1 {
			continue
		}
		tag := "td"
		if i == 0 {
			tag = "th"
		}
		out.WriteString("<tr>")
		for c := range strings.SplitSeq(strings.Trim(strings.TrimSpace(line), "|"), "|") {
			out.WriteString("<" + tag + ">" + string(inline(c)) + "</" + tag + ">")
		}
		out.WriteString("</tr>\n")
	}
	out.WriteString("</table>\n")
}
