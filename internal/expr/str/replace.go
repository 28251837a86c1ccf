package str

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/interrupt"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func replaceOneDefinition() expr.Definition { return replace("$replaceOne", 1) }
func replaceAllDefinition() expr.Definition { return replace("$replaceAll", -1) }

// replace defines $replaceOne or $replaceAll. n is the number of occurrences to replace, or -1 for
// all.
func replace(name string, n int) expr.Definition {
	return expr.Definition{
		Name: name, Family: family, Parse: parseReplace(name, n), Arguments: []string{"input", "find", "replacement"},
		Total: feature.No, Folds: feature.No, Depends: expr.OnOperands, StableAPI: feature.Yes,
	}
}

func parseReplace(name string, n int) expr.ParseFunc {
	named := expr.Named{
		Required:  3,
		NotObject: 51751, Unknown: expr.UnknownArgument{Code: 51750, Text: expr.FoundUnknown},
		Missing:       []mongoerr.Code{51749, 51748, 51747},
		NotObjectText: "%s requires an object as an argument, found: %s",
		MissingText:   "%s requires '%s' to be specified",
	}
	names := []string{"input", "find", "replacement"}
	return expr.WatchNamed(named, func(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
		null := false
		for i, v := range args {
			if expr.Nullish(v) {
				null = true
			} else if v.Type != bsonx.TypeString {
				return bsonx.Missing, mongoerr.New(mongoerr.Code(51746-i),
					"%s requires that '%s' be a string, found: %s", name, names[i], v.Type)
			}
		}
		if null {
			return bsonx.Null, nil
		}
		watch := &interrupt.Watch{Running: running}
		r := replacement{args[0].StrBytes(), args[1].StrBytes(), args[2].StrBytes(), n}
		size := r.size(watch)
		if watch.Ended() != nil {
			return bsonx.Missing, watch.Ended()
		}
		if err := expr.CheckText(size); err != nil {
			return bsonx.Missing, err
		}
		return bsonx.String(r.text(size, watch)), watch.Ended()
	})
}

// replacement contains the arguments of $replaceOne or $replaceAll.
type replacement struct {
	input, find, by []byte
	most            int // the number of occurrences to replace; -1 for all
}

// occurrences calls yield with the start and end of each occurrence to replace. An empty find
// occurs before each character and at the end.
func (r *replacement) occurrences(watch *interrupt.Watch, yield func(from, to int)) {
	at := 0
	for n := 0; n != r.most; n++ {
		from := at
		if len(r.find) > 0 {
			i := bytes.Index(r.input[at:], r.find)
			if i < 0 {
				return
			}
			from += i
		} else if n > 0 {
			if at == len(r.input) {
				return
			}
			_, size := utf8.DecodeRune(r.input[at:])
			from += size
		}
		if watch.Stopped(expr.StepWork + from - at) {
			return
		}
		at = from + len(r.find)
		yield(from, at)
	}
}

// size returns the length of the new text in bytes.
func (r *replacement) size(watch *interrupt.Watch) int {
	size := len(r.input)
	r.occurrences(watch, func(from, to int) { size += len(r.by) - (to - from) })
	return size
}

// text returns the new text, whose length is size.
func (r *replacement) text(size int, watch *interrupt.Watch) string {
	var out strings.Builder
	out.Grow(size)
	last := 0
	r.occurrences(watch, func(from, to int) {
		out.Write(r.input[last:from])
		out.Write(r.by)
		last = to
	})
	out.Write(r.input[last:])
	return out.String()
}
