package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/bson"
)

// shrinkBudget is how often a shrinker replays a scenario at most, and shrinkTime is how long.
const (
	shrinkBudget = 3000
	shrinkTime   = 20 * time.Second
)

// shrinker makes a scenario smaller while its last command shows a difference of the same kind.
type shrinker struct {
	ctx  context.Context
	pair *pair
	best scenario
	diff *difference
	left int
	end  time.Time
	// standing is true if the last command only reads and the servers still hold the data for that
	// command. Then the shrinker sends only that command again, and does not replay the scenario.
	standing bool
}

// shrink returns a smaller scenario that shows a difference like d, with the replies to it.
func shrink(ctx context.Context, p *pair, s scenario, d *difference) (scenario, *difference) {
	r := &shrinker{ctx: ctx, pair: p, best: s, diff: d, left: shrinkBudget, end: time.Now().Add(shrinkTime)}
	if last := len(s.Steps) - 1; !isWrite(s.Steps[last]) {
		r.standing = true
		r.simplifyStep(last)
		r.standing = false
	}
	for again := true; again && r.left > 0; {
		again = r.dropSteps()
		for i := range r.best.Steps {
			again = r.simplifyStep(i) || again
		}
	}
	return r.best, r.diff
}

// try keeps the new steps if they still show the difference.
func (r *shrinker) try(steps []bson.D) bool {
	if r.left--; r.left < 0 || len(steps) == 0 || time.Now().After(r.end) {
		return false
	}
	d, err := r.play(steps)
	if err != nil {
		r.left = 0 // a server does not answer, so the shrinker stops
		return false
	}
	if d == nil || !sameKind(d, r.diff) {
		return false
	}
	r.best, r.diff = scenario{Steps: steps}, d
	return true
}

func (r *shrinker) play(steps []bson.D) (*difference, error) {
	if !r.standing {
		return r.pair.play(r.ctx, scenario{Steps: steps})
	}
	last := steps[len(steps)-1]
	if isWrite(last) {
		return nil, nil
	}
	d, err := r.pair.step(r.ctx, last)
	if err != nil || d == nil || d.missing() != "" || r.pair.settle(r.ctx, last, d) != nil {
		return nil, err
	}
	return d, nil
}

// sameKind reports whether two differences have the same error codes, and both are or are not in
// the collections after the command.
func sameKind(a, b *difference) bool {
	return a.After == b.After &&
		errorCode(a.A) == errorCode(b.A) && errorCode(a.B) == errorCode(b.B) &&
		writeErrorCode(a.A) == writeErrorCode(b.A) && writeErrorCode(a.B) == writeErrorCode(b.B)
}

// dropSteps removes commands: first long runs of commands, then single commands.
func (r *shrinker) dropSteps() bool {
	changed := false
	for size := len(r.best.Steps) / 2; size > 0; size /= 2 {
		for i := 0; i+size < len(r.best.Steps); {
			if r.try(slices.Delete(slices.Clone(r.best.Steps), i, i+size)) {
				changed = true
			} else {
				i += size
			}
		}
	}
	return changed
}

// simplifyStep replaces one command by a simpler one.
func (r *shrinker) simplifyStep(i int) bool {
	changed := false
	for again := true; again && r.left > 0; {
		again = false
		for _, smaller := range simplerCommands(r.best.Steps[i]) {
			steps := slices.Clone(r.best.Steps)
			steps[i] = smaller
			if r.try(steps) {
				changed, again = true, true
				break
			}
			if r.left <= 0 {
				break
			}
		}
	}
	return changed
}

// simplerCommands returns variants of a command that lack one part. The command's name stays.
func simplerCommands(cmd bson.D) []bson.D {
	var out []bson.D
	for _, v := range simplerFields(cmd, 1) {
		smaller := v.(bson.D)
		if (cmd[0].Key != "insert" || sameIDs(cmd, smaller)) && hasStatements(smaller) &&
			endsWithID(lookup(smaller, "sort")) == endsWithID(lookup(cmd, "sort")) {
			out = append(out, smaller)
		}
	}
	return out
}

// hasStatements reports whether a write has at least one statement.
func hasStatements(cmd bson.D) bool {
	for _, name := range []string{"updates", "deletes"} {
		if list, isList := lookup(cmd, name).(bson.A); isList && len(list) == 0 {
			return false
		}
	}
	return true
}

// endsWithID reports whether a sort ends with _id, so that it is a total order. Any other sort
// could show another difference.
func endsWithID(sort any) bool {
	keys, _ := sort.(bson.D)
	return len(keys) > 0 && keys[len(keys)-1].Key == "_id"
}

// sameIDs reports whether a smaller insert still has the same _id in each of its documents. The _id
// values determine the order of the documents.
func sameIDs(cmd, smaller bson.D) bool {
	before, _ := lookup(cmd, "documents").(bson.A)
	after, _ := lookup(smaller, "documents").(bson.A)
	return len(after) > 0 && !slices.ContainsFunc(after, func(doc any) bool {
		d, isDoc := doc.(bson.D)
		return !isDoc || !slices.ContainsFunc(before,
			func(b any) bool { return equalValue(lookup(b.(bson.D), "_id"), lookup(d, "_id")) })
	})
}

// simpler returns smaller variants of a value, the smallest first.
func simpler(v any) []any {
	switch v := v.(type) {
	case bson.D:
		return simplerFields(v, 0)
	case bson.A:
		return simplerElements(v)
	case nil:
		return nil
	case int32:
		if v == 0 || v == 1 {
			return nil
		}
		return []any{int32(1)}
	case string:
		if v == "" || v == "a" || strings.HasPrefix(v, "$") && len(v) <= 3 {
			return nil
		}
		return []any{"a"}
	case bool:
		return nil
	}
	return []any{int32(1), "a"}
}

// simplerFields returns variants of a document in which one field is removed or simplified. It
// begins at the field with index from.
func simplerFields(d bson.D, from int) []any {
	var out []any
	for size := (len(d) - from) / 2; size > 1; size /= 2 {
		for i := from; i+size <= len(d); i += size {
			out = append(out, slices.Delete(slices.Clone(d), i, i+size))
		}
	}
	for i := from; i < len(d); i++ {
		out = append(out, slices.Delete(slices.Clone(d), i, i+1))
	}
	for i := from; i < len(d); i++ {
		if len(d) == 1 && from == 0 {
			out = append(out, inside(d[i].Value)...) // the operands of an operator take its place
		}
		for _, s := range simpler(d[i].Value) {
			c := slices.Clone(d)
			c[i].Value = s
			out = append(out, c)
		}
	}
	return out
}

// inside returns the operands of an operator.
func inside(v any) []any {
	var out []any
	switch v := v.(type) {
	case bson.D:
		if len(v) > 0 {
			out = append(out, v)
		}
		for _, e := range v {
			if _, isDoc := e.Value.(bson.D); isDoc {
				out = append(out, e.Value)
			}
		}
	case bson.A:
		out = append(out, v...)
	case string:
		if strings.HasPrefix(v, "$") {
			out = append(out, v)
		}
	}
	return out
}

func simplerElements(a bson.A) []any {
	var out []any
	for size := len(a) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(a); i += size {
			out = append(out, slices.Delete(slices.Clone(a), i, i+size))
		}
	}
	if len(a) == 1 {
		out = append(out, bson.A{})
	}
	for i := range a {
		for _, s := range simpler(a[i]) {
			c := slices.Clone(a)
			c[i] = s
			out = append(out, c)
		}
	}
	return out
}
