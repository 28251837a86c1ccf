package relation

// Design is a way to store documents that belong to each other.
type Design string

// These are the designs that Advise can return. The package documentation describes them.
const (
	Embed   Design = "embed"
	Buckets Design = "buckets"
	Link    Design = "link"
	OneWay  Design = "one-way"
	TwoWay  Design = "two-way"
	Pairs   Design = "pairs"
)

// The limits that Advise uses. A list of at most few links can be kept in one document. At most
// embedded children can be stored in their parent.
const (
	few      = 20
	embedded = 100
)

// Shape describes two kinds of things that belong to each other.
type Shape struct {
	// Parents is the largest number of parents of a child. Children is the largest number of
	// children of a parent.
	Parents, Children int
	// Alone says that programs query children without their parent.
	Alone bool
	// Grows says that the number of children grows while the parent lives.
	Grows bool
	// Frozen says that the parent must keep the child as it was, for example the address of an
	// order.
	Frozen bool
}

// Advise returns the design that fits a shape, and the reason.
func Advise(s Shape) (Design, string) {
	switch {
	case s.Frozen:
		return Embed, "later changes must not alter what was"
	case s.Parents <= 1 && s.Children <= 1:
		return Embed, "one read returns both"
	case s.Parents <= 1 && s.Alone:
		return Link, "children are asked for on their own"
	case s.Parents <= 1 && !s.Grows && s.Children <= embedded:
		return Embed, "one read returns all, one write changes all"
	case s.Parents <= 1:
		return Buckets, "the parent stays small, and a page is one read"
	case s.Parents <= few && s.Children <= few:
		return TwoWay, "both lists are short"
	case s.Parents <= few || s.Children <= few:
		return OneWay, "only the side with few can have a list"
	default:
		return Pairs, "neither side can have a list"
	}
}
