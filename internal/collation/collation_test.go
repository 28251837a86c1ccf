package collation_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

func parse(t *testing.T, fields ...any) *collation.Collator {
	t.Helper()
	c, err := collation.Parse(bsonx.NewDoc(fields...))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestOrder requires orders recorded from ICU 57.1. "A = B" means that the texts are equal.
func TestOrder(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		spec  []any
		order [][]string
	}{
		"strength 1": {
			[]any{"locale", "en", "strength", 1},
			[][]string{
				{"_", "_"},
				{"1"},
				{"a", "A", "á", "Å"},
				{"ae", "æ", "Æ", "AÉ"},
				{"b", "B"},
				{"ss", "ß"},
				{"z"},
				{"α"},
				{"я"},
				{"あ", "ア", "ァ"},
				{"中"},
			},
		},
		"strength 2": {
			[]any{"locale", "en", "strength", 2},
			[][]string{{"a", "A"}, {"á", "Á"}, {"ae", "AE"}, {"æ", "Æ"}, {"b", "B"}},
		},
		"strength 3": {[]any{"locale", "en"}, [][]string{{"a"}, {"A"}, {"á", "a\u0301"}, {"Á"}, {"ab"}, {"aB"}, {"b"}}},
		"strength 5": {[]any{"locale", "en", "strength", 5}, [][]string{{"a"}, {"a\u0001"}, {"A"}, {"á", "a\u0301"}}},
		"case level": {
			[]any{"locale", "en", "strength", 1, "caseLevel", true},
			[][]string{{"a", "á"}, {"A", "Á"}, {"ae", "æ", "aé"}, {"Ae"}, {"AE", "Æ"}, {"b"}},
		},
		"upper first": {
			[]any{"locale", "en", "caseFirst", "upper"},
			[][]string{{"CO"}, {"Co"}, {"co"}, {"CÓ"}, {"có"}},
		},
		"upper first, level": {
			[]any{"locale", "en", "strength", 2, "caseLevel", true, "caseFirst", "upper"},
			[][]string{{"A"}, {"a"}, {"Á"}, {"á"}},
		},
		"shifted": {
			[]any{"locale", "en", "alternate", "shifted"},
			[][]string{{"blackbird", "black-bird", "black bird"}, {"Blackbird", "Black-bird"}},
		},
		"shifted, level 4": {
			[]any{"locale", "en", "alternate", "shifted", "strength", 4},
			[][]string{{"black bird"}, {"black-bird"}, {"blackbird"}, {"Black bird"}, {"Blackbird"}},
		},
		"shifted, spaces": {
			[]any{"locale", "en", "alternate", "shifted", "maxVariable", "space"},
			[][]string{{"co-op"}, {"coop", "co op"}},
		},
		"numbers": {
			[]any{"locale", "en", "numericOrdering", true},
			[][]string{
				{"-2"},
				{"1.5"},
				{"1.10"},
				{"9", "09", "٩"},
				{"10"},
				{"a2", "a02"},
				{"a10"},
				{"a1" + string(bytes.Repeat([]byte("0"), 300))},
			},
		},
		"accents from behind": {[]any{"locale", "fr_CA"}, [][]string{{"cote"}, {"côte"}, {"coté"}, {"côté"}}},
		"accents from front":  {[]any{"locale", "fr"}, [][]string{{"cote"}, {"coté"}, {"côte"}, {"côté"}}},
		"Swedish":             {[]any{"locale", "sv"}, [][]string{{"a"}, {"y"}, {"ü"}, {"z"}, {"å"}, {"ä"}, {"ö"}}},
		"phone book":          {[]any{"locale", "de@collation=phonebook"}, [][]string{{"ad"}, {"ähnlich"}, {"af"}, {"ol"}}},
		"Russian":             {[]any{"locale", "ru"}, [][]string{{"9"}, {"а"}, {"А"}, {"я"}, {"a"}, {"z"}, {"α"}, {"ა"}}},
		"Greek":               {[]any{"locale", "el", "strength", 2}, [][]string{{"9"}, {"α", "Α"}, {"ω"}, {"a", "A"}, {"я"}}},
		"Polish": {
			[]any{"locale", "pl"},
			[][]string{
				{"az"},
				{"ą"},
				{"Ą"},
				{"b"},
				{"cz"},
				{"ć"},
				{"Ć"},
				{"ez"},
				{"ę"},
				{"lz"},
				{"ł"},
				{"Ł"},
				{"nz"},
				{"ń"},
				{"oz"},
				{"ó"},
				{"sz"},
				{"ś"},
				{"zz"},
				{"ź"},
				{"Ź"},
				{"ż"},
				{"Ż"},
			},
		},
		"Romanian": {
			[]any{"locale", "ro"},
			[][]string{
				{"az"},
				{"ă"},
				{"Ă"},
				{"ăz"},
				{"â"},
				{"Â"},
				{"b"},
				{"iz"},
				{"î"},
				{"Î"},
				{"sz"},
				{"ș", "ş"},
				{"Ș", "Ş"},
				{"tz"},
				{"ț", "ţ"},
				{"Ț", "Ţ"},
				{"u"},
			},
		},
		"Turkish": {
			[]any{"locale", "tr"},
			[][]string{
				{"cz"},
				{"ç"},
				{"Ç"},
				{"d"},
				{"gz"},
				{"ğ"},
				{"Ğ"},
				{"h"},
				{"ı"},
				{"I"},
				{"ız"},
				{"i"},
				{"İ"},
				{"iz"},
				{"j"},
				{"oz"},
				{"ö"},
				{"Ö"},
				{"sz"},
				{"ş"},
				{"Ş"},
				{"uz"},
				{"ü"},
				{"Ü"},
				{"v"},
			},
		},
		"Czech": {
			[]any{"locale", "cs"},
			[][]string{
				{"cz"},
				{"č"},
				{"Č"},
				{"d"},
				{"hz"},
				{"ch"},
				{"cH"},
				{"Ch"},
				{"CH"},
				{"i"},
				{"rz"},
				{"ř"},
				{"Ř"},
				{"sz"},
				{"š"},
				{"Š"},
				{"zz"},
				{"ž"},
				{"Ž"},
			},
		},
		"Spanish": {[]any{"locale", "es"}, [][]string{{"n"}, {"nz"}, {"ñ"}, {"Ñ"}, {"o"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := parse(t, tc.spec...)
			for i, class := range tc.order {
				for _, a := range class {
					if got := c.CompareValues(bsonx.String(a), bsonx.String(class[0])); got != 0 {
						t.Errorf("%q against %q: %d", a, class[0], got)
					}
					for _, lesser := range slices.Concat(tc.order[:i]...) {
						low, high := bsonx.String(lesser), bsonx.String(a)
						if c.CompareValues(low, high) >= 0 || c.CompareValues(high, low) <= 0 {
							t.Errorf("%q is not below %q", lesser, a)
						}
					}
				}
			}
		})
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	doc := func(fields ...any) bsonx.Doc { return bsonx.NewDoc(fields...) }
	for _, tc := range []struct {
		spec bsonx.Doc
		code mongoerr.Code
	}{
		{doc("strength", 2), 40414},
		{doc("locale", 1), mongoerr.TypeMismatch},
		{doc("locale", ""), mongoerr.BadValue},
		{doc("locale", "en_GB"), mongoerr.BadValue},
		{doc("locale", "tlh"), mongoerr.BadValue},
		{doc("locale", "en", "foo", 1), 40415},
		{doc("locale", "en", "strength", 0), mongoerr.BadValue},
		{doc("locale", "en", "strength", 6), mongoerr.BadValue},
		{doc("locale", "en", "strength", "x"), mongoerr.TypeMismatch},
		{doc("locale", "en", "caseFirst", "x"), mongoerr.BadValue},
		{doc("locale", "en", "caseLevel", 1), mongoerr.TypeMismatch},
		{doc("locale", "en", "backwards", "x"), mongoerr.TypeMismatch},
		{doc("locale", "en", "version", "58"), mongoerr.IncompatibleCollationVersion},
		{doc("locale", "fr_CA", "strength", 1), mongoerr.BadValue},
		{doc("locale", "en", "strength", 2, "caseFirst", "upper"), mongoerr.BadValue},
		{doc("locale", "th"), mongoerr.NotImplemented},
		{doc("locale", "cs", "numericOrdering", true), mongoerr.NotImplemented},
		{doc("locale", "simple", "strength", 2), 0},
		{doc("locale", "en", "caseLevel", nil, "strength", 1.5, "version", "57.1"), 0},
		{doc(), 0},
	} {
		if _, err := collation.Parse(tc.spec); mongoerr.CodeOf(err) != tc.code {
			t.Errorf("%s: %v", bsonx.FormatShell(bsonx.Document(tc.spec)), err)
		}
	}
	want := doc("locale", "fr_CA", "caseLevel", false, "caseFirst", "off", "strength", 3, "numericOrdering",
		false, "alternate", "non-ignorable",
		"maxVariable", "punct", "normalization", false, "backwards", true, "version", "57.1")
	if got := parse(t, "locale", "fr_CA").Spec(); !got.Equal(want) {
		t.Error(bsonx.FormatShell(bsonx.Document(got)))
	}
}

func fold(t *testing.T, c *collation.Collator, v bsonx.Value) bsonx.Value {
	t.Helper()
	v, err := c.Fold(v, nil)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestFold(t *testing.T) {
	t.Parallel()
	c := parse(t, "locale", "en", "strength", 2)
	a := bsonx.Document(bsonx.NewDoc("k", "Abc", "l", bsonx.NewArray("X", bsonx.NewDoc("m", "Y"), 5)))
	b := bsonx.Document(bsonx.NewDoc("k", "aBC", "l", bsonx.NewArray("x", bsonx.NewDoc("m", "y"), 5.0)))
	if c.CompareValues(a, b) != 0 || bsonx.CompareValues(fold(t, c, a), fold(t, c, b)) != 0 {
		t.Error("not equal")
	}
	if other := bsonx.Document(bsonx.NewDoc("K", "Abc")); c.CompareValues(a, other) == 0 {
		t.Error("names of fields are collated")
	}
	var none *collation.Collator
	if fold(t, none, a).Data == nil || none.CompareValues(a, b) == 0 || none.Spec() != nil {
		t.Error("a nil collator collates")
	}
}
