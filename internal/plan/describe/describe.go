package describe

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
)

// Filter describes a filter as MongoDB's messages do: one line for each predicate, and its operands
// indented below it. The text ends after MaxDescribed bytes.
func Filter(n filter.Node) string {
	var out strings.Builder
	t := describer{}
	t.node(n).write(&out, "")
	return out.String()
}

// described is a node of the tree that an error message shows for a filter.
type described struct {
	rank  int // order of the node among its siblings
	path  string
	line  string
	below []described
}

func (d described) write(out *strings.Builder, indent string) {
	if out.Len() > MaxDescribed {
		return
	}
	out.WriteString(indent + d.line + "\n")
	for _, child := range d.below {
		child.write(out, indent+"    ")
	}
}

// sortDescribed sorts nodes in the order of a canonical query.
func sortDescribed(nodes []described) {
	slices.SortStableFunc(nodes, func(a, b described) int {
		return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.path, b.path))
	})
}

// rankOf returns the rank of a kind of filter node. It leaves room after each kind for nodes that
// exist only in messages.
func rankOf(k filter.Kind) int { return 10 * int(k) }

func describedAs(k filter.Kind, path, line string) described {
	return described{rank: rankOf(k), path: path, line: line}
}

func describedList(k filter.Kind, line string, below []described) described {
	return described{rank: rankOf(k), line: line, below: below}
}

// describer builds the tree that a message shows. It stops early if the tree is too large to be
// shown.
type describer struct{ nodes int }

func (t *describer) node(n filter.Node) described {
	switch n := n.(type) {
	case *filter.And:
		return t.list(n.Kind(), "$and", n.Children)
	case *filter.Or:
		return t.list(n.Kind(), "$or", n.Children)
	case *filter.Nor:
		return t.list(n.Kind(), "$nor", n.Children)
	case *filter.Not:
		return t.list(n.Kind(), "$not", []filter.Node{n.Child})
	case *filter.ElemMatchObject:
		d := t.list(n.Kind(), n.Path+" $elemMatch (obj)", []filter.Node{n.Child})
		d.path = n.Path
		return d
	case *filter.ElemMatchValue:
		d := t.list(n.Kind(), n.Path+" $elemMatch (value)", n.Children)
		d.path = n.Path
		return d
	case *filter.Expr:
		return describeExpr(n)
	case *filter.AlwaysTrue, *filter.AlwaysFalse:
		name := filter.Serialize(n).First()
		return describedAs(n.Kind(), "", string(name.Key)+": 1")
	case *filter.JSONSchema, *filter.Where:
		written := filter.Serialize(n).First()
		return describedAs(n.Kind(), "", string(written.Key)+" "+bsonx.FormatShell(written.Value))
	case *filter.SampleRate:
		written := filter.Serialize(n).First()
		return described{rank: rankOf(filter.KindExpr) - 1, line: "$expr " + expr.Show(written.Value)}
	case *filter.Text:
		return describedAs(n.Kind(), "", describeText(filter.Serialize(n).First().Value.Doc()))
	case *filter.Size, *filter.Compare, *filter.Regex, *filter.Mod, *filter.Exists, *filter.In,
		*filter.Bits, *filter.TypeOf, *filter.Geo, *filter.GeoNear:
		leaf := n.(filter.Leaf)
		path := leaf.FieldPath().String()
		return describedAs(n.Kind(), path, describeLeaf(path, leaf))
	}
	return described{}
}

// list describes a node with children. Predicates that MongoDB derives from an $expr become
// siblings of the $expr.
func (t *describer) list(k filter.Kind, line string, children []filter.Node) described {
	var below []described
	added := false
	for _, child := range children {
		if t.nodes++; t.nodes > MaxDescribed {
			break
		}
		d := t.node(child)
		if k == filter.KindAnd && d.rank == rankOf(filter.KindAnd) {
			below = append(below, d.below...)
		} else {
			below = append(below, d)
		}
		added = added || child.Kind() == filter.KindExpr
	}
	if added {
		sortDescribed(below)
		below = slices.CompactFunc(below, func(a, b described) bool {
			return a.line == b.line && len(a.below)+len(b.below) == 0
		})
	}
	return describedList(k, line, below)
}

func describeLeaf(path string, n filter.Leaf) string {
	switch n := n.(type) {
	case *filter.In:
		return describeIn(path, n)
	case *filter.Exists:
		return path + " exists"
	case *filter.Regex:
		return path + " regex /" + n.Pattern + "/" + n.Options
	case *filter.Mod:
		return fmt.Sprintf("%s mod %d %% x == %d", path, n.Divisor, n.Remainder)
	case *filter.Size:
		return fmt.Sprintf("%s $size : %d", path, n.Size)
	case *filter.Geo:
		raw := bsonx.NewDoc(path, n.Spec)
		return "GEO raw = " + bsonx.FormatShell(bsonx.Document(raw))
	case *filter.GeoNear:
		return describeNear(path, n)
	}
	written := filter.SerializeShort(n, 8*bsonx.MaxShown).First().Value.Doc().First()
	name := path + " " + string(written.Key)
	switch n := n.(type) {
	case *filter.TypeOf: // the array is printed as a document, as it is stored
		return name + ": " + bsonx.FormatShell(bsonx.Document(written.Value.Doc()))
	case *filter.Bits:
		return name + ": " + expr.Show(written.Value)
	case *filter.Compare:
		return name + " " + bsonx.FormatShell(n.Value)
	}
	return name + " " + bsonx.FormatShell(written.Value)
}

func describeIn(path string, n *filter.In) string {
	var out strings.Builder
	out.WriteString(path + " $in [ ")
	separator := ""
	for v := range n.Written() {
		if out.Len() > MaxDescribed {
			break
		}
		out.WriteString(separator + bsonx.FormatShell(v))
		separator = " "
	}
	for _, re := range n.Regexes {
		if out.Len() > MaxDescribed {
			break
		}
		out.WriteString("/" + re.Pattern + "/" + re.Options + " ")
	}
	out.WriteString("]")
	return out.String()
}

// describeText describes a text search.
func describeText(d bsonx.Doc) string {
	flag := func(name string) int {
		if d.Lookup(name).Truthy() {
			return 1
		}
		return 0
	}
	return fmt.Sprintf("TEXT : query=%s, language=%s, caseSensitive=%d, diacriticSensitive=%d",
		d.LookupText("$search"), d.LookupText("$language"), flag("$caseSensitive"), flag("$diacriticSensitive"))
}

// describeNear describes a search by distance.
func describeNear(path string, n *filter.GeoNear) string {
	limit, sphere := n.Spec.Lookup("$maxDistance"), 0
	first := n.Spec.First()
	if near := first.Value; near.Type == bsonx.TypeDocument && !near.Doc().Lookup("$geometry").IsMissing() {
		limit = near.Doc().Lookup("$maxDistance")
	} else if string(first.Key) == "$nearSphere" {
		sphere = 1
	}
	most := "1.79769e+308"
	if f, ok := limit.AsFloat64(); ok {
		most = fmt.Sprintf("%.6g", f)
	}
	return fmt.Sprintf("GEONEAR  field=%s maxdist=%s isNearSphere=%d", path, most, sphere)
}

// describeExpr describes an $expr. It adds the predicates that MongoDB derives from comparisons of
// fields with constants.
func describeExpr(n *filter.Expr) described {
	form := filter.Serialize(n).First().Value
	self := describedAs(n.Kind(), "", "$expr "+expr.Show(form))
	derived := deriveComparisons(form)
	switch {
	case len(derived) == 0:
		return self
	case len(derived) == 1 && derived[0].rank == rankOf(filter.KindAlwaysFalse):
		return derived[0]
	}
	all := append([]described{self}, derived...)
	sortDescribed(all)
	return describedList(filter.KindAnd, "$and", all)
}

// deriveComparisons returns predicates that match every document for which an expression is true.
// form is the expression as explain shows it. The result may be empty.
func deriveComparisons(form bsonx.Value) []described {
	if form.Type != bsonx.TypeDocument {
		return nil
	}
	operator := form.Doc().First()
	name := string(operator.Key)
	if operator.Value.Type != bsonx.TypeArray {
		return nil
	}
	args := operator.Value.Doc()
	switch name {
	case "$and":
		var all []described
		for it := args.Iter(); it.Next(); {
			all = append(all, deriveComparisons(it.Value())...)
		}
		return all
	case "$or":
		return deriveOr(args)
	default:
		return deriveComparison(name, args)
	}
}

// deriveOr derives predicates from a disjunction, if each branch has any.
func deriveOr(args bsonx.Doc) []described {
	var branches []described
	for it := args.Iter(); it.Next(); {
		branch := deriveComparisons(it.Value())
		switch len(branch) {
		case 0:
			return nil
		case 1:
			branches = append(branches, branch[0])
		default:
			sortDescribed(branch)
			branches = append(branches, describedList(filter.KindAnd, "$and", branch))
		}
	}
	if len(branches) < 2 {
		return branches
	}
	sortDescribed(branches)
	return []described{describedList(filter.KindOr, "$or", branches)}
}

// derivedComparisons lists the comparisons that messages show, in their order. mirror is the
// comparison with exchanged operands.
var derivedComparisons = []struct{ name, shown, mirror string }{
	{"$eq", "$_internalExprEq", "$eq"},
	{"$gt", "$_internalExprGt", "$lt"},
	{"$gte", "$_internalExprGte", "$lte"},
	{"$lt", "$_internalExprLt", "$gt"},
	{"$lte", "$_internalExprLte", "$gte"},
}

func deriveComparison(name string, args bsonx.Doc) []described {
	if args.Len() != 2 {
		return nil
	}
	left, right := args.Index(0), args.Index(1)
	if name == "$in" {
		return deriveIn(left, right)
	}
	for _, c := range derivedComparisons {
		if c.name != name {
			continue
		}
		if _, ok := shownPath(left); !ok {
			left, right, name = right, left, c.mirror
		}
	}
	path, ok := shownPath(left)
	v := shownConstant(right)
	if !ok || v.IsMissing() || v.Type == bsonx.TypeArray || v.Type == bsonx.TypeUndefined {
		return nil
	}
	for i, c := range derivedComparisons {
		if c.name == name {
			rank := rankOf(filter.KindText) + 1 + i
			return []described{{rank: rank, path: path, line: path + " " + c.shown + " " + bsonx.FormatShell(v)}}
		}
	}
	return nil
}

// deriveIn derives an $in of the query language from an $in of expressions.
func deriveIn(left, right bsonx.Value) []described {
	path, ok := shownPath(left)
	list := shownConstant(right)
	if !ok || list.Type != bsonx.TypeArray {
		return nil
	}
	for it := list.Doc().Iter(); it.Next(); {
		switch it.Value().Type {
		case bsonx.TypeNull, bsonx.TypeUndefined, bsonx.TypeArray, bsonx.TypeRegex:
			return nil
		default:
		}
	}
	in, err := filter.Parse(bsonx.NewDoc(path, bsonx.NewDoc("$in", list)), filter.Options{})
	if err != nil {
		return nil
	}
	t := describer{}
	return []described{t.node(in.Normalize().Root)}
}

// shownPath reads a field path from an expression as explain shows it.
func shownPath(form bsonx.Value) (string, bool) {
	if form.Type != bsonx.TypeString {
		return "", false
	}
	path := strings.TrimPrefix(form.Str(), "$$ROOT.")
	if path != form.Str() {
		return path, true
	}
	path = strings.TrimPrefix(path, "$")
	return path, path != form.Str() && !strings.HasPrefix(path, "$")
}

// shownConstant reads a constant from an expression as explain shows it. It returns bsonx.Missing
// for other expressions.
func shownConstant(form bsonx.Value) bsonx.Value {
	if form.Type != bsonx.TypeDocument {
		return bsonx.Missing
	}
	return form.Doc().Lookup("$const")
}

// MaxDescribed is the size in bytes after which the description of a query ends.
const MaxDescribed = 4 << 10

// Shell returns a document in shell syntax, and "{}" for a missing document.
func Shell(d bsonx.Doc) string {
	if d.IsEmpty() {
		return "{}"
	}
	return bsonx.FormatShell(bsonx.Document(d))
}
