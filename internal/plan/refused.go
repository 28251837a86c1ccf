package plan

import (
	"errors"
	"fmt"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// Refused is an error of planning, before the query has run: MongoDB says of the others that they
// came from the executor.
type Refused struct{ err error }

// Error implements error.
func (r *Refused) Error() string { return r.err.Error() }

// Unwrap returns the error itself.
func (r *Refused) Unwrap() error { return r.err }

// cannotPlanPrefix begins the message of a query that no plan can answer.
const cannotPlanPrefix = "error processing query: planner returned error :: caused by :: "

// refuse makes an error of planning Refused, and describes the query in its message where MongoDB
// does.
func refuse(q *Query, err error) error {
	var e *mongoerr.Error
	if errors.As(err, &e) && strings.HasPrefix(e.Message, cannotPlanPrefix) {
		clone := *e
		clone.Message = "error processing query: " + describe(q) + " " + strings.TrimPrefix(e.Message, "error processing query: ")
		err = &clone
	}
	return &Refused{err}
}

// maxDescribed is how much of a query an error message repeats.
const maxDescribed = 4 << 10

// describe writes a query as MongoDB does: namespace, tree of predicates, sort, projection
// and collation.
func describe(q *Query) string {
	var out strings.Builder
	fmt.Fprintf(&out, "ns=%s.%s", q.DB, q.Name)
	if q.Limit > 0 {
		fmt.Fprintf(&out, " limit=%d", q.Limit)
	}
	if q.Skip > 0 {
		fmt.Fprintf(&out, " skip=%d", q.Skip)
	}
	out.WriteString("Tree: ")
	if q.Filter == nil || isTrue(q.Filter.Normalize().Root) {
		out.WriteString("$and\n")
	} else {
		describeAll(&out, filter.Serialize(q.Filter.Normalize().Root), "")
	}
	text := out.String()
	if len(text) > maxDescribed {
		text = text[:maxDescribed] + "…\n"
	}
	text += "Sort: " + shell(q.Sort) + "\nProj: " + shell(q.ProjectionSpec) + "\n"
	if !q.CollationSpec.IsEmpty() {
		text += "Collation: " + shell(q.CollationSpec) + "\n"
	}
	return text
}

// DescribeFilter writes a predicate as MongoDB's messages do.
func DescribeFilter(n filter.Node) string {
	var out strings.Builder
	describeAll(&out, filter.Serialize(n), "")
	return out.String()
}

func shell(d bsonx.Doc) string {
	if d.IsEmpty() {
		return "{}"
	}
	return bsonx.FormatShell(bsonx.Document(d))
}

// describeAll writes the predicates of a document, one a line.
func describeAll(out *strings.Builder, d bsonx.Doc, indent string) {
	for it := d.Iter(); it.Next() && out.Len() <= maxDescribed; {
		name, v := string(it.Key()), it.Value()
		switch {
		case name == "$and" || name == "$or" || name == "$nor":
			out.WriteString(indent + name + "\n")
			for _, child := range v.Doc().Values() {
				describeAll(out, child.Doc(), indent+"    ")
			}
		case v.Type == bsonx.TypeDocument && !strings.HasPrefix(name, "$"):
			describeField(out, name, v.Doc(), indent)
		case v.Type == bsonx.TypeDocument && name == "$text":
			out.WriteString(indent + describeText(v.Doc()))
		default:
			out.WriteString(indent + name + " " + bsonx.FormatShell(v) + "\n")
		}
	}
}

// describeField writes the predicates of one field.
func describeField(out *strings.Builder, path string, ops bsonx.Doc, indent string) {
	first := ops.First()
	switch op := string(first.Key); {
	case op == "$near" || op == "$nearSphere" || op == "$geoNear":
		out.WriteString(indent + describeNear(path, op, ops))
	case op == "$not" && first.Value.Type == bsonx.TypeDocument:
		out.WriteString(indent + "$not\n")
		describeField(out, path, first.Value.Doc(), indent+"    ")
	default:
		for it := ops.Iter(); it.Next() && out.Len() <= maxDescribed; {
			out.WriteString(indent + path + " " + string(it.Key()) + " " + bsonx.FormatShell(it.Value()) + "\n")
		}
	}
}

// describeText writes a search for words.
func describeText(d bsonx.Doc) string {
	flag := func(name string) int {
		if d.Lookup(name).Truthy() {
			return 1
		}
		return 0
	}
	return fmt.Sprintf("TEXT : query=%s, language=%s, caseSensitive=%d, diacriticSensitive=%d\n",
		d.LookupText("$search"), d.LookupText("$language"), flag("$caseSensitive"), flag("$diacriticSensitive"))
}

// describeNear writes a search by distance.
func describeNear(path, op string, ops bsonx.Doc) string {
	limit := ops.Lookup("$maxDistance")
	sphere := 0
	if near := ops.First().Value; near.Type == bsonx.TypeDocument && !near.Doc().Lookup("$geometry").IsMissing() {
		limit = near.Doc().Lookup("$maxDistance")
	} else if op == "$nearSphere" {
		sphere = 1
	}
	most := "1.79769e+308"
	if n, ok := limit.AsFloat64(); ok {
		most = fmt.Sprintf("%.6g", n)
	}
	return fmt.Sprintf("GEONEAR  field=%s maxdist=%s isNearSphere=%d\n", path, most, sphere)
}
