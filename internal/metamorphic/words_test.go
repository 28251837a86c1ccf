package metamorphic

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/torture"
)

// TestWords searches for words in all variants, which have the same text index. The plain variant
// does not use it.
func TestWords(t *testing.T) {
	torture.SkipShort(t)
	try(t, wordFamily)
}

var wordFamily = &family{
	patience:   3 * time.Second,
	begin:      []bson.D{{{"layout", layouts[0]}}},
	operations: []operation{{14, (*gen).search}, {2, (*gen).layout}, {2, (*gen).changeFound}, {1, (*gen).mislead}},
	keys:       indexKeys, fields: (*gen).texts, update: (*gen).rewrite,
}

const textIndex = "words"

// layouts are definitions of the text index with different fields and weights.
var layouts = []bson.D{
	layout(textPaths(nil, nil), nil),
	layout(textPaths(nil, nil), bson.D{{"t", 10}, {"in.t", 3}, {"tags", 2}}),
	layout(textPaths(nil, bson.D{{"b", 1}}), nil),
	layout(textPaths(bson.D{{"b", 1}}, nil), bson.D{{"many.t", 4}}),
	layout(textPaths(bson.D{{"n", -1}}, bson.D{{"o.p", -1}, {"c", 1}}), nil),
	layout(bson.D{{"$**", "text"}}, nil),
	layout(bson.D{{"c", 1}, {"$**", "text"}, {"n", 1}},
		bson.D{{"t", 7}}),
	append(layout(textPaths(nil, nil), nil), bson.E{"default_language", "none"}),
}

func textPaths(before, after bson.D) bson.D {
	words := bson.D{
		{"t", "text"},
		{"in.t", "text"},
		{"many.t", "text"},
		{"tags", "text"},
	}
	return slices.Concat(before, words, after)
}

func layout(key, weights bson.D) bson.D {
	out := bson.D{{"key", key}, {"name", textIndex}}
	if weights != nil {
		out = append(out, bson.E{"weights", weights})
	}
	return out
}

// changeWords gives a variant another text index, or rebuilds the index of an indexed variant.
func changeWords(ctx context.Context, v *variant, op bson.D) error {
	spec, _ := op[0].Value.(bson.D)
	if op[0].Key == "rebuild" {
		if !v.indexed {
			return nil
		}
		now, err := textSpec(ctx, v)
		if err != nil || now == nil {
			return err
		}
		spec = bson.D{{"name", textIndex}}
		for _, name := range []string{"key", "weights", "default_language"} {
			spec = append(spec, bson.E{name, lookup(now, name)})
		}
	}
	for _, cmd := range []bson.D{
		{{"dropIndexes", collName}, {"index", textIndex}},
		{{"createIndexes", collName}, {"indexes", bson.A{spec}}},
	} {
		got, err := answer(ctx, v, cmd)
		if err == nil && cmd[0].Key == "createIndexes" && strings.HasPrefix(got, "code") {
			return errRefused(got)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

type errRefused string

func (e errRefused) Error() string { return "refused with " + string(e) }

// textSpec returns the text index of a variant from listIndexes, or nil. It runs outside of
// transactions.
func textSpec(ctx context.Context, v *variant) (bson.D, error) {
	ctx = mongo.NewSessionContext(ctx, nil)
	specs, err := cursor(ctx, v, bson.D{{"listIndexes", collName}, {"cursor", bson.D{}}})
	if err != nil {
		_, err := refusal(err)
		return nil, err
	}
	for _, raw := range specs {
		if raw.Lookup("name").StringValue() == textIndex {
			var spec bson.D
			return spec, bson.Unmarshal(raw, &spec)
		}
	}
	return nil, nil
}

// vocabulary has words that no language of the runs drops or shortens. No word is a part of another
// one.
var vocabulary = []string{"alfa", "bravo", "delta", "kilo", "lima", "oscar", "romeo", "tango", "zulu", "victor"}

func (g *gen) word() string {
	w := vocabulary[min(g.IntN(len(vocabulary)), g.IntN(len(vocabulary)))]
	if g.chance(4) {
		return strings.ToUpper(w[:1]) + w[1:]
	}
	return w
}

func (g *gen) words() string {
	var out strings.Builder
	for i := range g.IntN(8) {
		if i > 0 {
			out.WriteString(pick(g, []string{" ", " ", " ", ", ", ". ", " - ", "\n"}))
		}
		out.WriteString(g.word())
	}
	return out.String()
}

// texts returns additional fields of documents: text in a field, in a document, in several fields,
// and among other values in an array.
func (g *gen) texts() bson.D {
	d := bson.D{}
	add := func(name string, v any) {
		if !g.chance(4) {
			d = append(d, bson.E{name, v})
		}
	}
	add("t", g.textValue())
	add("in", bson.D{{"t", g.textValue()}})
	many, tags := bson.A{}, bson.A{}
	for range g.IntN(3) {
		many = append(many, bson.D{{"t", g.textValue()}})
		tags = append(tags, g.textValue())
	}
	add("many", many)
	add("tags", tags)
	if g.chance(6) {
		d = append(d, bson.E{"language", pick(g, []string{"none", "en", "english", "nl"})})
	} else if g.chance(30) {
		d = append(d, bson.E{"language", "klingon"}) // the server refuses this language
	}
	return d
}

func (g *gen) textValue() any {
	if g.chance(10) {
		return pick(g, []any{nil, int32(3), bson.D{{"x", int32(1)}}})
	}
	return g.words()
}

// rewrite returns an update that no document refuses.
func (g *gen) rewrite() bson.D {
	switch g.IntN(4) {
	case 0:
		return bson.D{{"$unset", bson.D{{pick(g, []string{"t", "in", "many", "tags"}), ""}}}}
	case 1:
		tag := bson.D{{"$each", bson.A{g.textValue()}}, {"$slice", -3}}
		return bson.D{
			{"$set", bson.D{{"in.t", g.textValue()}}},
			{"$push", bson.D{{"tags", tag}}},
		}
	default:
		return bson.D{{"$set", bson.D{{"t", g.textValue()}}}}
	}
}

// mislead returns an update that sets an unknown language.
func (g *gen) mislead() bson.D {
	u := bson.D{{"$set", bson.D{{"language", "klingon"}, {"t", g.words()}}}}
	return update(bson.D{{"q", bson.D{{"_id", g.id()}}}, {"u", u}})
}

func (g *gen) layout() bson.D {
	if g.chance(2) {
		return bson.D{{"rebuild", 1}}
	}
	return bson.D{{"layout", pick(g, layouts)}}
}

func (g *gen) textPredicate() bson.D {
	var parts []string
	for range 1 + g.IntN(3) {
		switch g.IntN(8) {
		case 0:
			parts = append(parts, "-"+g.word())
		case 1:
			parts = append(parts, `"`+g.word()+" "+g.word()+`"`)
		case 2:
			parts = append(parts, `"`+g.word()+`"`)
		default:
			parts = append(parts, g.word())
		}
	}
	if g.chance(8) {
		parts = append(parts, `-"`+g.word()+" "+g.word()+`"`)
	}
	out := bson.D{{"$search", strings.Join(parts, " ")}}
	if g.chance(4) {
		out = append(out, bson.E{"$caseSensitive", true})
	}
	return out
}

// searched returns a predicate with $text. Often it also has equalities on the fields before the
// text, which some layouts require.
func (g *gen) searched() bson.D {
	out := bson.D{}
	if g.chance(2) {
		out = append(out, bson.E{"b", g.scalar()})
	}
	if g.chance(2) {
		out = append(out, bson.E{"n", pick(g, []any{int32(1), int64(2), 2.5})})
	}
	if g.chance(3) {
		out = append(out, bson.E{
			"c",
			pick(g, []any{nil, int32(1), "a", bson.D{{"$gte", int32(1)}}}),
		})
	}
	if g.chance(3) {
		more := g.filter(1)
		if nor, ok := lookup(more, "$nor").(bson.A); ok && len(nor[0].(bson.D)) == 0 {
			more = bson.D{} // a predicate that is always false needs no plan of a search
		}
		out = append(out, bson.E{"$and", bson.A{more}})
	}
	return append(out, bson.E{"$text", g.textPredicate()})
}

func (g *gen) search() bson.D {
	score := bson.D{{"$meta", "textScore"}}
	if g.chance(3) {
		stages := bson.A{
			bson.D{{"$match", g.searched()}},
			bson.D{{"$addFields", bson.D{{"score", score}}}},
			bson.D{{"$sort", bson.D{{"score", -1}, {"_id", 1}}}},
		}
		if g.chance(2) {
			stages = append(stages, bson.D{{"$limit", 1 + g.IntN(8)}})
		}
		return bson.D{
			{"aggregate", collName},
			{"pipeline", stages},
			{"cursor", bson.D{}},
		}
	}
	cmd := bson.D{{"find", collName}, {"filter", g.searched()}}
	if g.chance(4) {
		return cmd
	}
	cmd = append(cmd, bson.E{"projection", bson.D{{"score", score}}})
	if g.chance(4) {
		return cmd
	}
	cmd = append(cmd, bson.E{"sort", bson.D{{"score", score}}})
	if g.chance(2) {
		cmd = append(cmd, bson.E{"limit", 1 + g.IntN(8)})
	}
	return cmd
}

// changeFound changes or removes the documents that a search finds.
func (g *gen) changeFound() bson.D {
	if g.chance(4) {
		statement := bson.D{{"q", g.searched()}, {"limit", 0}}
		return bson.D{{"delete", collName}, {"deletes", bson.A{statement}}}
	}
	return update(bson.D{
		{"q", g.searched()},
		{"u", g.safeUpdate()},
		{"multi", true},
	})
}

func isSearch(op bson.D) bool { return strings.Contains(text(op), `"$text"`) }

// newSearch parses a find or an aggregate that search makes.
func newSearch(ctx context.Context, v *variant, op bson.D) (*ranked, error) {
	r := &ranked{op: op, sign: -1}
	filter := document(op, "filter")
	if op[0].Key == "find" {
		r.unordered = lookup(op, "sort") == nil
		r.limit = int(whole(lookup(op, "limit")))
		if lookup(op, "projection") != nil {
			r.shown = "score"
		}
	} else {
		stages := lookup(op, "pipeline").(bson.A)
		filter, r.shown = document(stages[0].(bson.D), "$match"), "score"
		if len(stages) > 3 {
			r.limit = int(whole(lookup(stages[3].(bson.D), "$limit")))
		}
	}
	spec, err := textSpec(ctx, v)
	if err != nil {
		return nil, err
	}
	s := newSearcher(filter[len(filter)-1].Value.(bson.D), spec)
	r.rest, r.rank = filter[:len(filter)-1], s.rank
	switch key := document(spec, "key"); {
	case spec == nil:
		r.refused = "code 27"
	case key[0].Key != "_fts" && !fixes(r.rest, key[0].Key):
		r.refused = "code 291"
	}
	return r, nil
}

// fixes reports whether a predicate has an equality on a field. A text index with that field before
// the text needs it.
func fixes(filter bson.D, path string) bool {
	for _, e := range filter {
		if and, ok := e.Value.(bson.A); ok && e.Key == "$and" {
			for _, f := range and {
				if fixes(f.(bson.D), path) {
					return true
				}
			}
		}
		if e.Key != path {
			continue
		}
		d, ok := e.Value.(bson.D)
		return !ok || len(d) == 0 || !strings.HasPrefix(d[0].Key, "$") || d[0].Key == "$eq"
	}
	return false
}

// searcher finds words in documents by reading all of them.
type searcher struct {
	weights                     bson.D
	terms, phrases, not, nowise []string
	exact                       bool
}

func newSearcher(query, spec bson.D) *searcher {
	s := &searcher{weights: document(spec, "weights")}
	s.exact, _ = lookup(query, "$caseSensitive").(bool)
	for rest, _ := lookup(query, "$search").(string); rest != ""; {
		negated := strings.HasPrefix(rest, "-")
		rest = strings.TrimPrefix(rest, "-")
		var part string
		quoted := strings.HasPrefix(rest, `"`)
		if quoted {
			part, rest, _ = strings.Cut(rest[1:], `"`)
			rest = strings.TrimPrefix(rest, " ")
		} else {
			part, rest, _ = strings.Cut(rest, " ")
		}
		switch {
		case quoted && negated:
			s.nowise = append(s.nowise, part)
		case quoted:
			s.phrases = append(s.phrases, part)
			s.terms = append(s.terms, strings.Fields(part)...)
		case negated:
			s.not = append(s.not, part)
		default:
			s.terms = append(s.terms, part)
		}
	}
	return s
}

// folded returns a string in lower case, unless the search distinguishes case.
func (s *searcher) folded(str string) string {
	if s.exact {
		return str
	}
	return strings.ToLower(str)
}

func wordsOf(str string) []string {
	return strings.FieldsFunc(str, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
}

// rank returns the negated score of a document, and whether the search finds the document.
func (s *searcher) rank(doc bson.D) (float64, bool) {
	score, found, phrases := 0.0, false, make([]bool, len(s.phrases))
	excluded := false
	s.strings(doc, func(str string, weight float64) {
		words := wordsOf(str)
		for _, w := range words {
			found = found || slices.ContainsFunc(s.terms, func(t string) bool { return s.folded(t) == s.folded(w) })
			excluded = excluded || slices.ContainsFunc(s.not, func(t string) bool { return s.folded(t) == s.folded(w) })
		}
		for i, p := range s.phrases {
			phrases[i] = phrases[i] || strings.Contains(s.folded(str), s.folded(p))
		}
		for _, p := range s.nowise {
			excluded = excluded || strings.Contains(s.folded(str), s.folded(p))
		}
		score += weight * s.score(str, words)
	})
	return -score, found && !excluded && !slices.Contains(phrases, false)
}

// score returns the score of a string with weight 1.
func (s *searcher) score(str string, words []string) (score float64) {
	terms := map[string]bool{}
	for _, t := range s.terms {
		terms[strings.ToLower(t)] = true
	}
	for t := range terms {
		n := 0
		for _, w := range words {
			if strings.EqualFold(w, t) {
				n++
			}
		}
		frequency := 2 - math.Pow(2, 1-float64(n))
		of := frequency * (0.5 + 0.5*float64(n)/float64(max(1, len(words))))
		if strings.EqualFold(str, t) {
			of *= 1.1
		}
		score += of
	}
	return score
}

// strings calls do for the strings of a document that the index covers.
func (s *searcher) strings(doc bson.D, do func(string, float64)) {
	everywhere := float(lookup(s.weights, "$**"))
	for _, path := range []string{"t", "in.t", "many.t", "tags"} {
		weight := float(lookup(s.weights, path))
		if math.IsNaN(weight) {
			weight = everywhere
		}
		reached(doc, strings.Split(path, "."), func(v any) {
			if str, ok := v.(string); ok {
				do(str, weight)
			}
		})
	}
}
