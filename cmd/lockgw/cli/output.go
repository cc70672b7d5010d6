package cli

import (
	"encoding/json"
	"io"

	"github.com/spf13/pflag"
)

// Output says in which form a command writes what it was asked for.
type Output struct{ Format string }

// AddFlag adds --output.
func (o *Output) AddFlag(f *pflag.FlagSet) {
	o.Format = "table"
	ChoiceVar(f, &o.Format, "output", "o", "form of the output", "table", "wide", "json", "name")
}

// Dash is s, and "-" in place of nothing.
func Dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// WriteJSON writes v for people and programs alike.
func WriteJSON(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(v)
}
