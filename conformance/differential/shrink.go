package main

import (
	"context"
	"slices"
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/bson"
)

// shrinkBudget bounds how many times a difference is tried again, shrinkTime how long.
const (
	shrinkBudget = 3000
	shrinkTime   = 20 * time.Second
)

// shrinker makes a scenario smaller while its last command keeps showing a difference of the same
// kind.
type shrinker struct {
	ctx  context.Context
	pair *pair
	best scenario
	diff *difference
	left int
	end  time.Time
	// standing is set while both servers still hold what the last command, which does not write,
	// differs on: it is then asked again without playing the scenario from the start.
	standing bool
}

// shrink returns a smaller scenario that shows the difference d, and the replies that it gets.
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

// try keeps the scenario if it still shows the difference.
func (r *shrinker) try(steps []bson.D) bool {
	if r.left--; r.left < 0 || len(steps) == 0 || time.Now().After(r.end) {
		return false
	}
	d, err := r.play(steps)
	if err != nil {
		r.left = 0 // a server is gone: what is found so far must do
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

// sameKind reports whether two differences look alike: same outcome and codes on both sides.
func sameKind(a, b *difference) bool {
	return a.After == b.After &&
		errorCode(a.A) == errorCode(b.A) && errorCode(a.B) == errorCode(b.B) &&
		writeErrorCode(a.A) == writeErrorCode(b.A) && writeErrorCode(a.B) == writeErrorCode(b.B)
}

// dropSteps leaves out commands: first large runs of them, then single ones.
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

// simplifyStep makes one command smaller.
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

// simplerCommands returns the variants of a command with one thing less. The command's name stays.
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

// hasStatements reports whether a command that writes by statements has one.
func hasStatements(cmd bson.D) bool {
	for _, name := range []string{"updates", "deletes"} {
		if list, isList := lookup(cmd, name).(bson.A); isList && len(list) == 0 {
			return false
		}
	}
	return true
}

// endsWithID reports whether a sort leaves no order open: without _id another difference would be
// found.
func endsWithID(sort any) bool {
	keys, _ := sort.(bson.D)
	return len(keys) > 0 && keys[len(keys)-1].Key == "_id"
}

// sameIDs reports whether all documents of an insert have the _id that they had: it gives them
// their order.
func sameIDs(cmd, smaller bson.D) bool {
	before, _ := lookup(cmd, "documents").(bson.A)
	after, _ := lookup(smaller, "documents").(bson.A)
	return len(after) > 0 && !slices.ContainsFunc(after, func(doc any) bool {
		d, isDoc := doc.(bson.D)
		return !isDoc || !slices.ContainsFunc(before,
			func(b any) bool { return equalValue(lookup(b.(bson.D), "_id"), lookup(d, "_id")) })
	})
}

// simpler returns smaller variants of a value, the boldest first.
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

// simplerFields leaves out or simplifies each field from the given one on.
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
			out = append(out, inside(d[i].Value)...) // a level less
		}
		for _, s := range simpler(d[i].Value) {
			c := slices.Clone(d)
			c[i].Value = s
			out = append(out, c)
		}
	}
	return out
}

// inside returns what an operator is applied to.
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
