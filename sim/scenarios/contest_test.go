package scenarios_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/sheafdb/sheaf/internal/torture"
	"github.com/sheafdb/sheaf/sim/scenario"
	"github.com/sheafdb/sheaf/sim/scenarios"
)

// TestContests checks the texts and the variants of the contests.
func TestContests(t *testing.T) {
	t.Parallel()
	set, names := allOf(t), map[string]bool{}
	for _, c := range scenarios.Contests() {
		if c.Title == "" || strings.HasSuffix(c.Title, ".") || len(c.Title) > 110 || len(c.Doc) < 80 ||
			len(c.Variants) < 2 || names[c.Name] {
			t.Errorf("%+v", c)
		}
		names[c.Name] = true
		labels := map[string]bool{}
		var first scenario.Values
		users := 0
		for i, v := range c.Variants {
			d, err := set.Find(v.Scenario)
			if err != nil {
				t.Fatal(err)
			}
			values, err := d.Values(v.Params)
			if err != nil {
				t.Fatalf("%s %s: %v", c.Name, v.Label, err)
			}
			if i == 0 {
				first, users = values, d.Users
			}
			if labels[v.Label] || d.Resident || d.Users != users {
				t.Errorf("%s: the variant %q", c.Name, v.Label)
			}
			labels[v.Label] = true
			for name, value := range values {
				if other, ok := first[name]; ok && other != value && v.Params[name] == nil &&
					c.Variants[0].Params[name] == nil {
					t.Errorf("%s: %s is %v for %s, and %v for %s", c.Name, name, value,
						v.Label, other, c.Variants[0].Label)
				}
			}
		}
	}
}

// TestContestants: the users do the same work with each variant of a contest.
func TestContestants(t *testing.T) {
	t.Parallel()
	for _, c := range torture.Some(scenarios.Contests(), 1) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			var first map[string]int64
			for _, v := range c.Variants {
				gate <- struct{}{}
				r := run(t, allOf(t), v.Scenario, v.Params)
				<-gate
				done := r.Scenarios[len(r.Scenarios)-1].Counts
				if first == nil {
					first = done
				}
				if len(done) == 0 || !maps.Equal(done, first) {
					t.Errorf("%s: %v, and %s: %v", v.Label, done, c.Variants[0].Label, first)
				}
			}
		})
	}
}

func allOf(t *testing.T) scenario.Set {
	t.Helper()
	set, err := scenario.NewSet(scenarios.All()...)
	if err != nil {
		t.Fatal(err)
	}
	return set
}
