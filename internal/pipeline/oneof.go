package pipeline

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/accumulator"
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// OneOf implements RuleOneOf. It finds a $group at the beginning of the pipeline that reads only
// one document of each group, so that the planner can skip the others. field is the path that it
// groups by, or empty for other pipelines. Without accumulators any document of a group will do.
// With $first or $last it is the first document of the group in the order of lead.Sort, or the last
// one if last is true.
func (p *Pipeline) OneOf(lead Leading) (field string, last bool) {
	if p.opts.Disable&parsing.RuleOneOf != 0 || p.opts.Collation != nil || len(p.steps) == 0 ||
		lead.Skip > 0 || lead.Limit > 0 {
		return "", false
	}
	g, ok := p.steps[0].Stage.(*group)
	if !ok || g.part {
		return "", false
	}
	id := g.spec.Lookup("_id")
	if id.Type == bsonx.TypeDocument && id.Doc().Len() == 1 && !isOperatorCall(id.Doc()) {
		// An _id with a single field forms the same groups as the value of the field.
		id = id.Doc().First().Value
	}
	if id.Type != bsonx.TypeString {
		return "", false
	}
	path, ok := strings.CutPrefix(id.Str(), "$")
	if !ok || strings.HasPrefix(path, "$") {
		return "", false
	}
	for i, f := range g.fields {
		if lead.Sort == nil || f.Sole == accumulator.NoDocument || i > 0 && f.Sole != g.fields[0].Sole {
			return "", false
		}
		last = f.Sole == accumulator.LastDocument
	}
	return path, last
}
