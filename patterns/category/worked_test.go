package category_test

import (
	"testing"

	"github.com/sheafdb/sheaf/patterns/category"
	"github.com/sheafdb/sheaf/patterns/patterntest"
)

// TestPaths is worked examples W091 to W093 of the book: the categories above a category, at any
// depth, and the categories below it. The book's loop returns an empty name for the first level,
// and loses a level at the fourth.
func TestPaths(t *testing.T) {
	designs(t, func(t *testing.T, d category.Design) {
		s := open(t, patterntest.Open(t), d)
		s.must(s.EnsureIndexes(t.Context()))
		s.add("", "electronics", "electronics")
		s.add("electronics", "embedded", "embedded")
		s.add("embedded", "arduino", "arduino")
		s.add("", "a", "a")
		s.add("a", "b", "b")
		s.add("b", "c", "c")
		s.add("c", "d", "d")
		for slug, want := range map[string]string{
			"electronics": "electronics",
			"arduino":     "electronics > embedded > arduino",
			"b":           "a > b",
			"d":           "a > b > c > d",
		} {
			equal(t, "above "+slug, s.trail(slug), want)
		}
		equal(t, "children", s.children("electronics"), "embedded")
		equal(t, "subtree", s.subtree("electronics"), "arduino electronics embedded")
		s.sound()
	})
}
