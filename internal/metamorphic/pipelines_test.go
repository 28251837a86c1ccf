package metamorphic

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/torture"
)

// pipelineSettings are the settings in which each pipeline runs. The others are compared with the
// first one.
var pipelineSettings = []setting{
	{name: "embedded"},
	{name: "served, indexed", served: true, indexed: true, batch: 3},
	{name: "unoptimised", unoptimised: true},
	{name: "indexed, unoptimised", indexed: true, unoptimised: true, batch: 2},
	{name: "served, 1 MiB", served: true, budget: 1 << 20},
	{name: "indexed, little memory", indexed: true, budget: 2 << 10},
}

const (
	pipelinePatience = 4 * time.Second
	pipelinesOfRound = 40 // pipelines of a round, which run on the same documents
)

// TestPipelines runs random pipelines in all settings and compares the answers. A round has a seed,
// from which its documents and pipelines are made.
func TestPipelines(t *testing.T) {
	t.Parallel()
	first := firstSeed(t)
	limit := torture.Time(pipelinePatience)
	var clients []*mongo.Client
	for i := range pipelineSettings {
		clients = append(clients, pipelineSettings[i].configure(t))
	}
	n := 0
	var tally outcomes
	for begin := time.Now(); n < *runs || *runs == 0 && time.Since(begin) < limit; n++ {
		r := newRound(t, first+uint64(n), clients)
		r.tally = &tally
		r.run(t)
		if t.Failed() {
			t.Fatalf("run it again with -metamorphic.seed=%d -metamorphic.runs=1", first+uint64(n))
		}
	}
	t.Logf("%d rounds of %d pipelines in %d settings: %+v", n, pipelinesOfRound, len(pipelineSettings), tally)
}

// outcomes counts the results of pipelines.
type outcomes struct{ answered, failed, noMemory int }

// round is a set of documents, which all settings have.
type round struct {
	gen     *pipelineGen
	clients []*mongo.Client
	tally   *outcomes
}

func newRound(t *testing.T, seed uint64, clients []*mongo.Client) *round {
	t.Helper()
	r := &round{gen: &pipelineGen{Rand: rand.New(rand.NewPCG(seed, 17))}, clients: clients}
	pad, n := "", 5+r.gen.IntN(60)
	if r.gen.chance(6) { // the documents together have more than 1 MiB
		pad, n = strings.Repeat("p", 20_000), 70
	}
	collections := map[string][]bson.Raw{}
	for i := range n {
		collections[collName] = append(collections[collName], parse(t, r.gen.document(i, pad)))
	}
	for i := range 3 + r.gen.IntN(12) {
		collections["d"] = append(collections["d"], parse(t, r.gen.document(i, "")))
	}
	for i, client := range clients {
		f := fileRun{setting: pipelineSettings[i], client: client, name: "test"}
		for name, docs := range collections {
			f.load(t, name, docs)
		}
		if f.indexed {
			for _, keys := range []bson.D{
				{{"b", 1}, {"c", -1}, {"_id", 1}},
				{{"b", 1}, {"_id", 1}},
				{{"s", -1}, {"_id", -1}},
				{{"o.p", 1}, {"_id", 1}},
			} {
				if _, err := f.db().Collection(collName).Indexes().
					CreateOne(t.Context(), mongo.IndexModel{Keys: keys}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
	return r
}

func (r *round) run(t *testing.T) {
	t.Helper()
	for range pipelinesOfRound {
		stages := r.gen.pipeline()
		err := r.compare(t, stages)
		if err == nil {
			continue
		}
		stages, err = r.shorten(t, stages, err)
		t.Errorf("[%s]\n%v", strings.Join(stages, ", "), err)
		return
	}
}

// shorten omits stages while the settings still differ.
func (r *round) shorten(t *testing.T, stages []string, err error) ([]string, error) {
	t.Helper()
	for i := 0; i < len(stages); {
		fewer := slices.Delete(slices.Clone(stages), i, i+1)
		if e := r.compare(t, fewer); e != nil && sortsStay(stages, fewer) {
			stages, err = fewer, e
		} else {
			i++
		}
	}
	return stages, err
}

// sortsStay reports whether all $sorts that make the answer unique are still there.
func sortsStay(stages, fewer []string) bool {
	count := func(list []string) (n int) {
		for _, s := range list {
			if strings.HasPrefix(s, `{"$sort"`) || strings.HasPrefix(s, `{"$set": {"j`) {
				n++
			}
		}
		return n
	}
	return count(stages) == count(fewer)
}

// compare runs a pipeline in all settings and returns the first difference.
func (r *round) compare(t *testing.T, stages []string) error {
	t.Helper()
	pipeline := parse(t, `{"v": [`+strings.Join(stages, ", ")+`]}`).Lookup("v")
	var want []string
	var wantErr error
	for i, client := range r.clients {
		s := &pipelineSettings[i]
		got, err := s.answer(t.Context(), client, pipeline)
		if i == 0 {
			want, wantErr = got, err
			r.count(err)
			continue
		}
		switch {
		case err != nil && s.mayFail(err, wantErr):
			r.count(err)
		case err != nil:
			return fmt.Errorf("%s: %w", s.name, err)
		case wantErr == nil && !slices.Equal(got, want):
			return fmt.Errorf("%s:\n%s\n%s:\n%s", s.name, strings.Join(got, "\n"),
				pipelineSettings[0].name, strings.Join(want, "\n"))
		}
	}
	return nil
}

func (r *round) count(err error) {
	switch {
	case r.tally == nil:
	case err == nil:
		r.tally.answered++
	case isMemory(err):
		r.tally.noMemory++
	default:
		r.tally.failed++
	}
}

// isMemory reports whether a stage had too little memory and could not spill.
func isMemory(err error) bool {
	var failed mongo.CommandError
	if !errors.As(err, &failed) {
		return false
	}
	switch failed.Code {
	case 146, 292, 40099, 5414201:
		return true
	}
	return false
}

// mayFail reports whether a setting may have an error although the first setting had none, or the
// other way round. The optimiser avoids errors, and stages that do not spill fail with little
// memory.
func (s *setting) mayFail(err, first error) bool {
	var failed mongo.CommandError
	if !errors.As(err, &failed) || failed.Code == 1 || failed.Code == 8 {
		return false
	}
	return first != nil || s.unoptimised || s.budget > 0 && isMemory(err)
}

// answer runs a pipeline and prints its sorted documents, without the types of numbers.
func (s *setting) answer(ctx context.Context, client *mongo.Client, pipeline bson.RawValue) ([]string, error) {
	options := bson.D{}
	if s.batch > 0 {
		options = bson.D{{"batchSize", s.batch}}
	}
	c, err := client.Database("test").
		RunCommandCursor(ctx, bson.D{
			{"aggregate", collName},
			{"pipeline", pipeline},
			{"cursor", options},
		})
	if err != nil {
		return nil, err
	}
	c.SetBatchSize(s.batch)
	var docs []bson.D
	if err := c.All(ctx, &docs); err != nil {
		return nil, err
	}
	out := make([]string, len(docs))
	for i, d := range docs {
		out[i] = canonicalDoc(d)
	}
	slices.Sort(out)
	return out, nil
}

// canonicalDoc prints a document with its top-level fields sorted, and numbers with ten digits. It
// is undefined which of equal numbers represents a group, and in which order numbers are added.
func canonicalDoc(d bson.D) string {
	slices.SortFunc(d, func(a, b bson.E) int { return strings.Compare(a.Key, b.Key) })
	for i, e := range d {
		if e.Key == "pad" {
			d[i].Value = "…"
		}
	}
	return text(roundNumbers(oneNumberType(d)))
}

func roundNumbers(v any) any {
	switch v := v.(type) {
	case bson.D:
		for i := range v {
			v[i].Value = roundNumbers(v[i].Value)
		}
	case bson.A:
		for i := range v {
			v[i] = roundNumbers(v[i])
		}
	case float64:
		return strconv.FormatFloat(v, 'g', 10, 64)
	}
	return v
}
