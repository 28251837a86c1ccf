package relation

// Design is a way to store what belongs together.
type Design string

// The designs; the package's documentation says what they are.
const (
	Embed   Design = "embed"
	Buckets Design = "buckets"
	Link    Design = "link"
	OneWay  Design = "one-way"
	TwoWay  Design = "two-way"
	Pairs   Design = "pairs"
)

// The bounds of what the books call few: a list that is always read and written as a whole with its
// document.
const (
	few      = 20
	embedded = 100
)

// Shape is what is known of two kinds of things that belong to each other.
type Shape struct {
	// Parents is how many parents a child has at most, Children how many children a parent has at
	// most.
	Parents, Children int
	// Alone says that children are asked for without their parent, in ways of their own.
	Alone bool
	// Grows says that children are added as long as the parent lives.
	Grows bool
	// Frozen says that the parent must keep the child as it was: the address that an order went to.
	Frozen bool
}

// Advise says which design fits, and why.
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
