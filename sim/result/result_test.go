package result_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/sheafdb/sheaf/sim/result"
)

// measured returns measurements of the users with the given numbers. The numbers start at 0.
func measured(users ...int) *result.Measured {
	m := result.NewMeasured()
	for _, n := range users {
		d := time.Duration(n+1) * 1_234_567
		m.RuntimeSeconds = max(m.RuntimeSeconds, d.Seconds())
		m.Started++
		slot := m.Slot(n / 100)
		slot.Started++
		m.Lateness.Add(d / 1000)
		m.Counts["orders"] += int64(n)
		switch {
		case n%17 == 0:
			m.Cut++
			continue
		case n%13 == 0:
			m.Failed++
			slot.Failed++
			m.Errors[fmt.Sprint("kind ", n%2)]++
		default:
			m.Succeeded++
			m.Latency.Add(d)
			slot.Latency.Add(d)
			m.Step("insert").Add(d / 2)
		}
		m.Slot(n/90).Ended++
	}
	return m
}

func numbers(n int) []int {
	out := make([]int, n)
	for i := range out {
		out[i] = i
	}
	return out
}

// sameMeasured compares two sets of measurements.
func sameMeasured(t *testing.T, got, want *result.Measured) {
	t.Helper()
	if got.RuntimeSeconds != want.RuntimeSeconds || got.Started != want.Started || got.Succeeded != want.Succeeded ||
		got.Failed != want.Failed || got.Cut != want.Cut {
		t.Errorf("%+v, not %+v", got, want)
	}
	if !reflect.DeepEqual(got.Errors, want.Errors) || !reflect.DeepEqual(got.Counts, want.Counts) ||
		len(got.Steps) != len(want.Steps) {
		t.Errorf("%v %v %v, not %v %v %v", got.Errors, got.Counts, got.Steps, want.Errors, want.Counts, want.Steps)
	}
	same(t, got.Latency, want.Latency)
	same(t, got.Lateness, want.Lateness)
	for name, step := range want.Steps {
		same(t, got.Step(name), step)
	}
	if len(got.Series) != len(want.Series) {
		t.Fatalf("%d slots, not %d", len(got.Series), len(want.Series))
	}
	for i, s := range want.Series {
		if g := got.Series[i]; g.Started != s.Started || g.Ended != s.Ended || g.Failed != s.Failed {
			t.Errorf("slot %d: %+v, not %+v", i, g, s)
		}
		same(t, got.Series[i].Latency, s.Latency)
	}
}

// TestMerge: several processes each start every second or third user. Their merged measurements
// equal the measurements of one process.
func TestMerge(t *testing.T) {
	t.Parallel()
	whole := measured(numbers(1000)...)
	for shares := 1; shares <= 4; shares++ {
		parts := make([][]int, shares)
		for _, n := range numbers(1000) {
			parts[n%shares] = append(parts[n%shares], n)
		}
		sum := result.NewMeasured()
		for _, p := range parts {
			sum.Merge(measured(p...))
		}
		sum.Merge(&result.Measured{Series: []*result.Slot{nil}})
		sameMeasured(t, sum, whole)
	}
}

func example() *result.Result {
	return &result.Result{
		Format: result.Format, Title: "an example", Started: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC),
		RuntimeSeconds: 3, ScheduleSeconds: 2.5, Partial: "interrupted",
		Environment: result.Environment{Target: "embedded", Server: "Sheaf", Cores: 2},
		Scenarios: []*result.Scenario{{
			Name: "insert", Label: "insert", Params: map[string]string{"size": "10"},
			Load:     result.Load{Iterations: 10, Users: 100, Shape: "constant"},
			Measured: *measured(numbers(1000)...),
			Check:    result.Check{Done: true, Total: 1, Violations: []string{"one is gone"}},
		}},
		Server: &result.Server{
			Deltas:  map[string]int64{"opcounters.insert": 1000},
			Samples: []result.ServerSample{{Second: 1, Rates: map[string]float64{"opcounters.insert": 400}}},
		},
		Agents: []result.Agent{{Address: "db1:27900", Lost: "after 2 s: silent"}},
	}
}

// TestRoundTrip writes a result to a file and reads it.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	want := example()
	var text bytes.Buffer
	if err := want.Write(&text); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "r.json")
	if err := os.WriteFile(path, text.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := result.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	sameMeasured(t, &got.Scenarios[0].Measured, &want.Scenarios[0].Measured)
	got.Scenarios[0].Measured, want.Scenarios[0].Measured = result.Measured{}, result.Measured{}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nnot\n%+v", got, want)
	}
	if wrong := got.Wrong(); len(wrong) != 1 || wrong[0] != "insert: 1 violations, the first: one is gone" {
		t.Error(wrong)
	}
}

// TestRefused reads files that are not results, or have a later format.
func TestRefused(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "{}", "[]", "null", `{"format":`, `{"format":-1}`, `{"format":2}`, `{"format":"1"}`,
		`{"format":1,"scenarios":[null]}`,
		`{"format":1,"scenarios":[{"latency":{"count":1,"digits":3}}]}`,
	} {
		if r, err := result.Read(strings.NewReader(text)); !errors.Is(err, result.ErrFormat) {
			t.Errorf("%s: %+v %v", text, r, err)
		}
	}
	if _, err := result.Read(strings.NewReader(`{"format":2}`)); err == nil ||
		!strings.Contains(err.Error(), "format 2, known are up to 1") {
		t.Error(err)
	}
	if _, err := result.ReadFile(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestSparse reads a result without its optional fields.
func TestSparse(t *testing.T) {
	t.Parallel()
	r, err := result.Read(strings.NewReader(`{"format":1,"scenarios":[{"label":"a","series":[null,{}],"steps":{"b":null},"check":{"total":3}}]}`))
	if err != nil {
		t.Fatal(err)
	}
	s := r.Scenarios[0]
	if s.Latency.Percentile(99) != 0 || s.Lateness.Count() != 0 || s.Series[1].Latency.Count() != 0 || s.Step("b").
		Count() != 0 || s.Errors == nil {
		t.Errorf("%+v", s)
	}
	if wrong := r.Wrong(); len(wrong) != 1 || wrong[0] != "a: 3 violations, the first: not known" {
		t.Error(wrong)
	}
}

// FuzzRead reads arbitrary bytes. If Read accepts a result, the result can be queried, merged,
// written and read again.
func FuzzRead(f *testing.F) {
	small := example()
	small.Scenarios[0].Measured = *measured(numbers(30)...)
	text, err := json.Marshal(small)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"format":1,"scenarios":[{"series":[null,{}],"steps":{"b":null},"check":{"total":3}}]}`))
	f.Add([]byte(`{"format":2}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := result.Read(bytes.NewReader(data))
		if err != nil {
			if !errors.Is(err, result.ErrFormat) {
				t.Error(err)
			}
			return
		}
		r.Wrong()
		sum := result.NewMeasured()
		for _, s := range r.Scenarios {
			sum.Merge(&s.Measured)
			if p := s.Latency.Percentile(99); p < s.Latency.Min() || p > s.Latency.Max() || s.Latency.StdDev() < 0 {
				t.Errorf("p99 %v is not from %v to %v", p, s.Latency.Min(), s.Latency.Max())
			}
		}
		var again bytes.Buffer
		if err := r.Write(&again); err != nil {
			t.Fatal(err)
		}
		if _, err := result.Read(&again); err != nil {
			t.Errorf("written, it is not read: %v", err)
		}
	})
}
