package main

import (
	"math"
	"math/rand/v2"
	"testing"

	"go.mongodb.org/mongo-driver/bson"
)

// TestScenarioRepeats checks that a seed and a group number always give the same commands, and that
// a command that is written as a line for -replay and read back is the same.
func TestScenarioRepeats(t *testing.T) {
	for group := range uint64(50) {
		a := newGenerator(rand.New(rand.NewPCG(7, group)), false, nil).scenario()
		b := newGenerator(rand.New(rand.NewPCG(7, group)), false, nil).scenario()
		if len(a.Steps) != len(b.Steps) {
			t.Fatalf("group %d: %d and %d commands", group, len(a.Steps), len(b.Steps))
		}
		for i := range a.Steps {
			line := show(a.Steps[i])
			if other := show(b.Steps[i]); line != other {
				t.Fatalf("group %d command %d:\n%s\n%s", group, i, line, other)
			}
			read, err := parseJSON([]byte(line))
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			if again := show(read); again != line {
				t.Fatalf("written\n%s\nread\n%s", line, again)
			}
		}
	}
}

func TestCompare(t *testing.T) {
	rows := func(v ...any) bson.D { return bson.D{{"ok", int32(1)}, {"rows", bson.A(v)}} }
	values := func(v ...any) bson.D {
		return bson.D{{"ok", int32(1)}, {"values", bson.A(v)}}
	}
	cases := []struct {
		name    string
		a, b    bson.D
		ordered bool
		want    bool
	}{
		{"order is open", rows(int32(1), int32(2)), rows(int32(2), int32(1)), false, true},
		{"order is fixed", rows(int32(1), int32(2)), rows(int32(2), int32(1)), true, false},
		{"types differ", rows(int32(1)), rows(int64(1)), false, false},
		{"zeros differ", rows(0.0), rows(math.Copysign(0, -1)), false, false},
		{"NaN is NaN", rows(math.NaN()), rows(math.NaN()), true, true},
		{"field order", rows(bson.D{{"a", nil}, {"b", nil}}), rows(bson.D{{"b", nil}, {"a", nil}}), false, false},
		{"distinct of equal numbers", values(int32(1), decimal("2.0")), values(2.0, int64(1)), false, true},
		{"distinct of other numbers", values(0.1), values(decimal("0.1")), false, false},
	}
	for _, c := range cases {
		if got := equalReply(c.a, c.b, c.ordered); got != c.want {
			t.Errorf("%s: equal %v, want %v", c.name, got, c.want)
		}
	}
}

func TestSimplerIsSmaller(t *testing.T) {
	cmd := bson.D{{"find", "c"}, {"filter", bson.D{{"a", bson.A{1.5, "xy"}}}}}
	for range 100 {
		next := simplerCommands(cmd)
		if len(next) == 0 {
			return
		}
		cmd = next[len(next)-1]
		if cmd[0].Key != "find" {
			t.Fatalf("the command's name was lost: %s", show(cmd))
		}
	}
	t.Fatal("simplifying does not end")
}
