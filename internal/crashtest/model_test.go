package crashtest

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// absent is the state of a document that does not exist.
const absent = ""

// record is a document of a worker. All fields are always present, so that an update keeps their
// order.
type record struct {
	ID     string  `bson:"_id"`
	Worker int32   `bson:"w"`
	Group  int32   `bson:"g"`
	N      int64   `bson:"n"`
	Unique string  `bson:"u"`
	Part   int32   `bson:"p"`
	Tags   []int32 `bson:"tags"`
	Place  place   `bson:"at"`
	Pair   bson.A  `bson:"xy"`
	Text   string  `bson:"text"`
	Pad    string  `bson:"pad"`
}

// place is a GeoJSON point or line.
type place struct {
	Type        string `bson:"type"`
	Coordinates bson.A `bson:"coordinates"`
}

// move gives the record other places and another text at random.
func (r *record) move(rng *rand.Rand) {
	x, y := float64(rng.IntN(200))/10, float64(rng.IntN(200))/10
	r.Place, r.Pair = place{"Point", bson.A{x, y}}, bson.A{y, x}
	if rng.IntN(4) == 0 {
		r.Place = place{"LineString", bson.A{bson.A{x, y}, bson.A{x + 1, y + 2}}}
	}
	r.Text = ""
	for range rng.IntN(12) {
		r.Text += words[rng.IntN(len(words))] + " "
	}
}

// words are the words of texts. They are not stop words in any language.
var words = []string{"alfa", "bravo", "delta", "kilo", "lima", "oscar", "tango", "zulu"}

func (r record) state() string {
	b, err := bson.Marshal(r)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func parse(state string) record {
	var r record
	if err := bson.Unmarshal([]byte(state), &r); err != nil {
		panic(err)
	}
	return r
}

// document has the possible states of a document. The first is the newest acknowledged one.
type document struct{ states []string }

// worker changes documents of its own and knows their states.
type worker struct {
	t    *testing.T
	id   int32
	rng  *rand.Rand
	srv  *child
	docs map[string]*document
	next int
	acks int
	// added has the sum of the acknowledged additions to each shared counter. tried also includes
	// the additions that were not acknowledged.
	added, tried map[int]int64
}

// ids returns the sorted ids of existing documents, so that only the seed decides which one is
// picked.
func (w *worker) ids() []string {
	var out []string
	for id, d := range w.docs {
		if d.states[0] != absent {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

func (w *worker) pick() (record, bool) {
	ids := w.ids()
	if len(ids) == 0 {
		return record{}, false
	}
	return parse(w.docs[ids[w.rng.IntN(len(ids))]].states[0]), true
}

func (w *worker) newRecord() record {
	w.next++
	id := fmt.Sprintf("w%d-%06d", w.id, w.next)
	r := record{
		ID: id, Worker: w.id, Group: w.rng.Int32N(8), N: w.rng.Int64N(100), Unique: "u" + id, Part: w.rng.Int32N(10),
		Tags: []int32{}, Pad: pad(w.rng.IntN(600)),
	}
	r.move(w.rng)
	return r
}

func pad(n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = 'a' + byte(i%26)
	}
	return string(b)
}

// write calls do, which writes to the server. changes has the new state of each document that do
// writes, by id. write reports whether the server replied.
func (w *worker) write(changes map[string]string, do func() error) bool {
	for id, after := range changes {
		d := w.docs[id]
		if d == nil {
			d = &document{states: []string{absent}}
			w.docs[id] = d
		}
		d.states = []string{d.states[0], after}
	}
	if err := do(); err != nil {
		if !w.srv.killed.Load() {
			w.t.Errorf("worker %d: %v", w.id, err)
		}
		return false
	}
	w.acks++
	for id, after := range changes {
		w.docs[id].states = []string{after}
	}
	return true
}

// verify compares the documents of a restarted server with the possible states in the model. The
// state that it finds becomes the only possible state of a document.
func (w *worker) verify(found map[string]string) {
	w.t.Helper()
	for id, d := range w.docs {
		state := found[id]
		if !slices.Contains(d.states, state) {
			w.t.Fatalf("worker %d, document %s: found %s\nit may be %s", w.id, id, show(state), showAll(d.states))
		}
		d.states = []string{state}
		if state == absent {
			delete(w.docs, id)
		}
		delete(found, id)
	}
	for _, state := range found {
		w.t.Fatalf("worker %d: a document that is not there: %s", w.id, show(state))
	}
}

func show(state string) string {
	if state == absent {
		return "none"
	}
	return bson.Raw(state).String()
}

func showAll(states []string) (out []string) {
	for _, s := range states {
		out = append(out, show(s))
	}
	return out
}

// run does random steps until the server dies or ctx ends.
func (w *worker) run(ctx context.Context) {
	for ctx.Err() == nil && !w.t.Failed() {
		n := w.rng.IntN(totalWeight)
		for _, s := range steps {
			if n -= s.weight; n < 0 {
				if !s.run(ctx, w) {
					return
				}
				break
			}
		}
	}
}
