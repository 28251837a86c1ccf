package command_test

import (
	"flag"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf"
	"github.com/sheafdb/sheaf/internal/command/argtest"
	"github.com/sheafdb/sheaf/sheaftest"
)

var (
	argumentPairs = flag.Int("arguments.pairs", 300, "pairs that TestArgumentPairs draws")
	argumentSeed  = flag.Uint64("arguments.seed", 1, "seed of TestArgumentPairs")
)

// notInPairs matches commands that change the replies of later commands. It also matches commands
// that may crash a MongoDB server without sessions and users.
var notInPairs = regexp.MustCompile(`^(configureFailPoint|authenticate|sasl|logout|.*[sS]ession|fsync|.*Transaction)`)

// TestArgumentPairs gives two random arguments of a command values of random types. No reply may be
// an internal error. With -arguments.uri, it also runs each command on the server at that URI, and
// compares the error codes. It skips the comparison if the servers reply differently when one of
// the arguments is changed alone.
//
//	go test ./internal/command -run TestArgumentPairs -arguments.pairs 5000 -arguments.uri mongodb://…
func TestArgumentPairs(t *testing.T) {
	t.Parallel()
	arguments, err := argtest.Arguments()
	if err != nil {
		t.Fatal(err)
	}
	ofBase := map[*argtest.Base][]argtest.Argument{}
	for _, a := range arguments {
		ofBase[a.Base] = append(ofBase[a.Base], a)
	}
	here := &sweep{t: t, client: sheaftest.Open(t, &sheaf.Options{TestCommands: true}).Client()}
	var there *sweep
	if *argumentsURI != "" {
		there = &sweep{t: t, client: argumentsClient(t)}
	}
	random := rand.New(rand.NewPCG(*argumentSeed, 0)) //nolint:gosec // a seed repeats it
	values := argtest.Values()
	for range *argumentPairs {
		one := arguments[random.IntN(len(arguments))]
		two := ofBase[one.Base][random.IntN(len(ofBase[one.Base]))]
		v, w := values[random.IntN(len(values))], values[random.IntN(len(values))]
		if notInPairs.MatchString(one.Base.Name) {
			continue
		}
		base := *one.Base
		base.Command = one.With(v.Value)
		pair := argtest.Argument{Base: &base, Path: two.Path}
		got := here.run(pair, w)
		if strings.Contains(got, "InternalError") {
			t.Errorf("%s %s, %s %s: %s", one, v.Type, two.Path, w.Type, got)
		}
		if there == nil {
			continue
		}
		want := there.run(pair, w)
		if strings.HasPrefix(want, "unreadable") || strings.HasPrefix(want, "0 ") {
			t.Fatalf("%s %s, %s %s: the other server: %s", one, v.Type, two.Path, w.Type, want)
		}
		if answerCode(got) == answerCode(want) {
			continue
		}
		first, second := answerCode(here.run(one, v)), answerCode(here.run(two, w))
		switch {
		// TestArguments reports differences of single arguments
		case first != answerCode(there.run(one, v)) || second != answerCode(there.run(two, w)):
		case answerCode(got) == first && answerCode(want) == second ||
			answerCode(got) == second && answerCode(want) == first:
			// Both arguments are wrong. The servers may check them in different orders.
		default:
			t.Errorf("%s %s, %s %s:\n got %s\nwant %s", one, v.Type, two.Path, w.Type, got, want)
		}
	}
}

var answerNumber = regexp.MustCompile(`^[a-z ]*\d*`)

// answerCode returns the kind and the code of an answer.
func answerCode(answer string) string { return answerNumber.FindString(answer) }
