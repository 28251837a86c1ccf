package metamorphic

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/torture"
)

var (
	runs   = flag.Int("metamorphic.runs", 0, "how many runs; 0 for as many as a few seconds take")
	length = flag.Int("metamorphic.ops", 80, "operations of a run")
	seed   = flag.Uint64("metamorphic.seed", 0, "seed of the first run; 0 takes one from -torture.seed")
	replay = flag.String("metamorphic.replay", "", "file of a run to run again")
)

// TestVariants runs random operations in all variants and compares the answers.
func TestVariants(t *testing.T) {
	if *replay != "" {
		ops, err := load(*replay)
		if err != nil {
			t.Fatal(err)
		}
		if err := execute(t, ops); err != nil {
			t.Fatal(err)
		}
		return
	}
	try(t, scalarFamily)
}

// try runs operations of a family for the time that the flags set.
func try(t *testing.T, f *family) {
	t.Helper()
	if *replay != "" {
		t.Skip("another run is run again")
	}
	first := firstSeed(t)
	limit := torture.Time(f.patience)
	n := 0
	for begin := time.Now(); n < *runs || *runs == 0 && time.Since(begin) < limit; n++ {
		ops := newRun(f, first+uint64(n), *length)
		if err := execute(t, ops); err != nil {
			t.Errorf("seed %d: %v", first+uint64(n), err)
			fail(t, ops, len(f.begin))
		}
	}
	t.Logf("%d runs of %d operations on %d variants", n, *length, len(variants))
}

// firstSeed returns the seed of the test's first round; the next rounds have the numbers after it.
func firstSeed(t *testing.T) uint64 {
	t.Helper()
	first := *seed
	if first == 0 {
		first = torture.Begin(t).Rand(0).Uint64N(1 << 32)
	}
	t.Logf("first seed: -metamorphic.seed=%d", first)
	return first
}

// fail shortens a failing run, writes it to a file, and ends the test.
func fail(t *testing.T, ops []bson.D, begin int) {
	t.Helper()
	short := shorten(t, ops, begin)
	file, err := os.CreateTemp("", "sheaf-metamorphic-*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	for _, op := range short {
		fmt.Fprintln(file, text(op))
	}
	t.Fatalf("run it again with -metamorphic.replay=%s\nshortened to %d operations: %v", file.Name(), len(short), execute(t, short))
}

// shorten omits operations after the first begin ones while the run still fails, for a limited
// time.
func shorten(t *testing.T, ops []bson.D, begin int) []bson.D {
	end := time.Now().Add(20 * time.Second)
	for size := len(ops) / 2; size > 0; {
		shorter := false
		for at := begin; at+size <= len(ops) && time.Now().Before(end); {
			fewer := slices.Concat(ops[:at], ops[at+size:])
			if execute(t, fewer) != nil {
				ops, shorter = fewer, true
			} else {
				at += size
			}
		}
		if !shorter || size > len(ops) {
			size /= 2
		}
	}
	return ops
}

func load(name string) ([]bson.D, error) {
	raw, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var ops []bson.D
	for line := range bytes.Lines(raw) {
		var op bson.D
		if err := bson.UnmarshalExtJSON(line, true, &op); err != nil {
			return nil, err
		}
		ops = append(ops, op)
	}
	return ops, nil
}

func text(v any) string {
	b, err := bson.MarshalExtJSON(v, true, false)
	if err != nil {
		return err.Error()
	}
	return string(b)
}

// execute runs operations on new variants and returns the first difference.
func execute(t *testing.T, ops []bson.D) error {
	t.Helper()
	vs := openAll(t)
	defer func() { closeAll(vs) }()
	rng := rand.New(rand.NewPCG(uint64(len(ops)), 3))
	for i, op := range ops {
		if err := compare(t.Context(), vs, op); err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
		at := vs[rng.IntN(len(vs))]
		if err := at.transacted.commit(t.Context()); err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
		if err := relations(t.Context(), at, op); err != nil {
			return fmt.Errorf("operation %d: %s\n%w", i, text(op), err)
		}
	}
	for _, v := range vs {
		if err := v.transacted.commit(t.Context()); err != nil {
			return err
		}
		if err := validate(t.Context(), v); err != nil {
			return err
		}
	}
	return nil
}

// compare runs an operation in all variants.
func compare(ctx context.Context, vs []*variant, op bson.D) error {
	var want string
	for i, v := range vs {
		if op[0].Key == "restart" {
			if v.restart != nil {
				v.restart()
			}
			continue
		}
		if op[0].Key == "layout" || op[0].Key == "rebuild" {
			if err := changeWords(ctx, v, op); err != nil {
				return fmt.Errorf("%s\n%s: %w", text(op), v.name, err)
			}
			continue
		}
		if indexCommands[op[0].Key] && lookup(op, "comment") != "everywhere" {
			if v.indexed {
				_, _ = answer(ctx, v, op) // the command may fail: the index may or may not exist
			}
			continue
		}
		got, err := answer(ctx, v, op)
		if err != nil {
			return fmt.Errorf("%s\n%s: %w", text(op), v.name, err)
		}
		if i == 0 {
			want = got
		} else if got != want {
			return fmt.Errorf("%s\n%s: %s\n%s: %s\n%s", text(op), vs[0].name, want, v.name, got, explain(ctx, v, op))
		}
	}
	return nil
}

// answer runs a command and prints the part of the reply that must not depend on the variant.
func answer(ctx context.Context, v *variant, op bson.D) (string, error) {
	if v.transacted != nil {
		return v.transacted.answer(ctx, v, op)
	}
	if v.past != nil {
		return v.past.answer(ctx, v, op)
	}
	return ask(ctx, v, op)
}

// ask does the same as answer, but does not begin a transaction or read at a past time. If ctx has
// a transaction, the command runs in it.
func ask(ctx context.Context, v *variant, op bson.D) (string, error) {
	db := v.client.Database("test")
	r, err := rankedOf(ctx, v, op)
	if err != nil {
		return "", err
	}
	if r != nil {
		return r.answer(ctx, v)
	}
	switch op[0].Key {
	case "find", "aggregate":
		if v.scans {
			op = slices.Insert(slices.Clone(op), 1, hintNatural)
		}
		docs, err := cursor(ctx, v, op)
		if err != nil {
			return refusal(err)
		}
		var out []string
		for _, d := range docs {
			out = append(out, canonical(d))
		}
		if op[0].Key == "find" && !slices.ContainsFunc(op, func(e bson.E) bool { return e.Key == "sort" }) {
			slices.Sort(out)
		}
		return strings.Join(out, "\n"), nil
	}
	raw, err := db.RunCommand(ctx, op).Raw()
	if err != nil {
		return refusal(err)
	}
	var reply bson.D
	if err := bson.Unmarshal(raw, &reply); err != nil {
		return "", err
	}
	reply = slices.DeleteFunc(reply, func(e bson.E) bool {
		return e.Key == "$clusterTime" || e.Key == "operationTime" || e.Key == "atClusterTime"
	})
	if op[0].Key == "distinct" {
		return text(oneNumberType(reply)), nil
	}
	return text(reply), nil
}

// oneNumberType replaces numbers by doubles, because distinct returns the first of several equal
// values with different types.
func oneNumberType(v any) any {
	switch v := v.(type) {
	case bson.D:
		for i := range v {
			v[i].Value = oneNumberType(v[i].Value)
		}
	case bson.A:
		for i := range v {
			v[i] = oneNumberType(v[i])
		}
	case int32:
		return float64(v)
	case int64:
		return float64(v)
	case float64:
		if v == 0 {
			return 0.0 // -0 becomes 0
		}
	case bson.Decimal128:
		f, _ := strconv.ParseFloat(v.String(), 64)
		return f
	}
	return v
}

// cursor runs a command that returns a cursor, with the variant's batch size.
func cursor(ctx context.Context, v *variant, op bson.D) ([]bson.Raw, error) {
	if v.batch > 0 {
		op = slices.Clone(op)
		if op[0].Key == "find" {
			op = append(op, bson.E{"batchSize", v.batch})
		} else {
			op[len(op)-1].Value = bson.D{{"batchSize", v.batch}}
		}
	}
	c, err := v.client.Database("test").RunCommandCursor(ctx, op)
	if err != nil {
		return nil, err
	}
	c.SetBatchSize(v.batch)
	var docs []bson.Raw
	err = c.All(ctx, &docs)
	return docs, err
}

// refusal prints the code of a server's error. It omits the text, which may name an index.
func refusal(err error) (string, error) {
	var w mongo.WriteException
	if errors.As(err, &w) {
		out := ""
		for _, e := range w.WriteErrors {
			out += fmt.Sprintf("document %d: code %d\n", e.Index, e.Code)
		}
		return out, nil
	}
	var s mongo.CommandError
	if errors.As(err, &s) && s.Code > 0 && s.Code != 1 && s.Code != 8 {
		return fmt.Sprint("code ", s.Code), nil
	}
	return "", err
}

// canonical prints a document with its top-level fields sorted, because a covered query does not
// know the document's order.
func canonical(d bson.Raw) string {
	elements, _ := d.Elements()
	var out []string
	for _, e := range elements {
		out = append(out, text(bson.D{{e.Key(), e.Value()}}))
	}
	slices.Sort(out)
	return strings.Join(out, " ")
}

// explain prints the plan of a query, for the report.
func explain(ctx context.Context, v *variant, op bson.D) string {
	raw, err := v.client.Database("test").
		RunCommand(ctx, bson.D{{"explain", op}, {"verbosity", "queryPlanner"}}).Raw()
	if err != nil {
		return err.Error()
	}
	if plan, err := raw.LookupErr("queryPlanner", "winningPlan"); err == nil {
		return "plan: " + plan.String()
	}
	return ""
}

func validate(ctx context.Context, v *variant) error {
	var r struct {
		Valid  bool
		Errors []string
	}
	err := v.client.Database("test").
		RunCommand(ctx, bson.D{{"validate", collName}, {"full", true}}).Decode(&r)
	var s mongo.CommandError
	if errors.As(err, &s) && s.HasErrorCode(26) {
		return nil // a shortened run may not even create the collection
	}
	if err == nil && !r.Valid {
		err = fmt.Errorf("not valid: %q", r.Errors)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", v.name, err)
	}
	return nil
}
