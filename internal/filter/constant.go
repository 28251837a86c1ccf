package filter

import (
	"math"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// AlwaysTrue matches every document.
type AlwaysTrue struct{}

// AlwaysFalse matches no document.
type AlwaysFalse struct{}

// SampleRate is $sampleRate: it matches randomly with the given probability.
type SampleRate struct {
	Rate   float64
	random func() float64
}

// Kind returns KindAlwaysTrue.
func (*AlwaysTrue) Kind() Kind { return KindAlwaysTrue }

// Kind returns KindAlwaysFalse.
func (*AlwaysFalse) Kind() Kind { return KindAlwaysFalse }

// Kind returns KindSampleRate.
func (*SampleRate) Kind() Kind { return KindSampleRate }

func (*AlwaysTrue) matchDoc(bsonx.Doc, *state) bool      { return true }
func (*AlwaysTrue) matchElem(bsonx.Value, *state) bool   { return true }
func (*AlwaysFalse) matchDoc(bsonx.Doc, *state) bool     { return false }
func (*AlwaysFalse) matchElem(bsonx.Value, *state) bool  { return false }
func (n *SampleRate) matchDoc(bsonx.Doc, *state) bool    { return n.random() < n.Rate }
func (n *SampleRate) matchElem(bsonx.Value, *state) bool { return n.random() < n.Rate }

func (*AlwaysTrue) serialize(b *serializer)  { b.Int32("$alwaysTrue", 1) }
func (*AlwaysFalse) serialize(b *serializer) { b.Int32("$alwaysFalse", 1) }

// serialize writes the filter as MongoDB shows it: an $expr that compares $rand with the rate.
func (n *SampleRate) serialize(b *serializer) {
	random := bsonx.NewDoc("$rand", bsonx.Empty)
	rate := bsonx.NewDoc("$const", n.Rate)
	b.Doc("$expr", bsonx.NewDoc("$lt", bsonx.NewArray(random, rate)))
}

func parseAlways(n Node) topParser {
	return func(_ *parser, name string, v bsonx.Value, _ level, _ int) (Node, error) {
		i, err := parseInt(name, v)
		if err != nil {
			return nil, err
		}
		if i != 1 {
			return nil, mongoerr.New(mongoerr.FailedToParse, "%s must be an integer value of 1", name)
		}
		return n, nil
	}
}

func parseSampleRate(p *parser, _ string, v bsonx.Value, _ level, _ int) (Node, error) {
	if !v.Type.IsNumber() {
		return nil, mongoerr.New(mongoerr.BadValue, "argument to $sampleRate must be a numeric type")
	}
	rate, _ := v.AsFloat64()
	switch {
	case math.IsNaN(rate) || rate < 0 || rate > 1:
		return nil, mongoerr.New(mongoerr.BadValue, "numeric argument to $sampleRate must be in [0, 1]")
	case rate == 0:
		return &AlwaysFalse{}, nil
	}
	return &SampleRate{Rate: rate, random: p.opts.Random}, nil
}

// parseComment accepts $comment, which has no effect.
func parseComment(*parser, string, bsonx.Value, level, int) (Node, error) { return nil, nil }

// parseDBRefField compiles $ref, $id or $db like an ordinary field name, for $elemMatch on an array
// of DBRefs. Only $id uses the collation.
func parseDBRefField(p *parser, name string, v bsonx.Value, _ level, _ int) (Node, error) {
	var c *collation.Collator
	if name == "$id" {
		c = p.opts.Collation
	}
	return NewCompare(name, Eq, v, c), nil
}
