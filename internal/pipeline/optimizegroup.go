package pipeline

import (
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// OneOf is RuleOneOf. It returns the field by which a $group at the beginning of the pipeline groups, where it reads one
// document of each group only: any where it has no accumulators, else the first in the order that the query before it
// asks for, or the last. The field is empty for other pipelines.
func (p *Pipeline) OneOf(lead Leading) (field string, last bool) {
	if p.opts.Disable&parsing.RuleOneOf != 0 || p.opts.Collation != nil || len(p.steps) == 0 || lead.Skip > 0 || lead.Limit > 0 {
		return "", false
	}
	g, ok := p.steps[0].Stage.(*group)
	if !ok || p.steps[0].name != "$group" {
		return "", false
	}
	id := p.steps[0].spec.Doc().Lookup("_id")
	if id.Type == bsonx.TypeDocument && id.Doc().Len() == 1 && !isOperatorCall(id.Doc()) {
		id = id.Doc().First().Value // a field that stands alone groups as its value does
	}
	if id.Type != bsonx.TypeString {
		return "", false
	}
	path, ok := strings.CutPrefix(id.Str(), "$")
	if !ok || strings.HasPrefix(path, "$") {
		return "", false
	}
	for i, f := range g.fields {
		if lead.Sort == nil || f.Name != "$first" && f.Name != "$last" || i > 0 && f.Name != g.fields[0].Name {
			return "", false
		}
		last = f.Name == "$last"
	}
	return path, last
}
