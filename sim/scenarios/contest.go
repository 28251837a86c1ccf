package scenarios

// Contest is a problem that has several designs, which are to be compared under the same load.
type Contest struct {
	// Name is how it is chosen: "cart".
	Name string
	// Title is a line of text, Doc what speaks for which design before anything is measured.
	Title, Doc string
	Variants   []Variant
}

// Variant is a design. The users of all variants of a contest do the same work.
type Variant struct {
	// Label names the design.
	Label string
	// Scenario is what its users do, with these parameters.
	Scenario string
	Params   map[string]any
}

// designs returns the variants of a scenario that differ in one parameter, by whose values they are
// called.
func designs(name, parameter string, values ...string) []Variant {
	out := make([]Variant, len(values))
	for i, v := range values {
		out[i] = Variant{Label: v, Scenario: name, Params: map[string]any{parameter: v}}
	}
	return out
}

// Contests returns all contests.
func Contests() []Contest {
	return append(readContests(), writeContests()...)
}

func writeContests() []Contest {
	return []Contest{{
		Name: "cart", Title: "Stock reserved when it is put into the cart, or when it is paid",
		Doc: `With a reservation the customer learns at once what is gone, and each product is written for each cart that has it, twice. Without one the stock is
changed once, for all products of the cart together, and carts that are left keep nothing.`,
		Variants: []Variant{{"reserve", "cart-reserve", nil}, {"checkout", "cart-checkout", nil}},
	}, {
		Name: "comments", Title: "Write comments: as documents, into one for all, or into pages of a hundred",
		Doc: `A comment that is a document is one insert. Inside of another document it makes the server write that one as a whole, which grows with the discussion;
a page bounds that, and has to be found.`,
		Variants: designs("comments-post", "design", "documents", "embedded", "pages"),
	}, {
		Name: "counters", Title: "Count hits: one number, or a document of a day, flat or in levels, with months or without",
		Doc: `One number answers how many there were, and nothing else. A document of a day has each minute and hour, so that charts are read; in levels the
server passes fewer names to find a minute. Months cost a find and an update more. A writer that gathers hits pays once for many.`,
		Variants: []Variant{
			{"plain", "hits-plain", nil},
			{"levels", "hits", map[string]any{"months": false}},
			{"flat", "hits", map[string]any{"months": false, "form": "flat"}},
			{"levels and months", "hits", nil},
			{"gathered", "hits", map[string]any{"writer": "gather"}},
		},
	}, {
		Name: "slice", Title: "The latest items in their parent, with room made beforehand or not",
		Doc: `A document that has its size from the beginning does not grow. That mattered to an engine that kept documents in their place; one that writes them anew
each time writes the room as well.`,
		Variants: []Variant{
			{"room made", "slice", map[string]any{"preAllocate": true}},
			{"as it grows", "slice", map[string]any{"preAllocate": false}},
		},
	}, {
		Name: "timeseries", Title: "Samples in buckets made beforehand or not, in windows, or in a time-series collection of the server",
		Doc: `A bucket is incremented, so its size is that of its time, however many samples there are. The server's own collections keep each sample, compressed, and
need no update at all.`,
		Variants: []Variant{
			{"buckets made", "timeseries", map[string]any{"preAllocate": true}},
			{"buckets", "timeseries", map[string]any{"preAllocate": false}},
			{"windows", "timeseries", map[string]any{"design": "windows"}},
			{"native", "timeseries", map[string]any{"design": "native"}},
		},
	}, {
		Name: "transfer", Title: "A transfer in two phases, or in a transaction of the server",
		Doc: `Two phases are five commands, each of which changes single documents, and work on any server. A transaction has fewer commands, and is tried again where
others change the same account at the same time. It needs a replica set.`,
		Variants: designs("transfer", "design", "twophase", "transaction"),
	}}
}

func readContests() []Contest {
	const tree = `Ancestors in an array give the bread crumbs with the category. A path finds a whole branch by one range of an index.`
	return []Contest{{
		Name: "category", Title: "Read a branch of a tree: by ancestors, or by paths", Doc: tree,
		Variants: designs("category-subtree", "design", "ancestors", "paths"),
	}, {
		Name: "category-children", Title: "Read the children of a category: by ancestors, or by paths",
		Doc:      "Both designs read the same index alone. What differs is the size of the documents, which is not read.",
		Variants: designs("category-children", "design", "ancestors", "paths"),
	}, {
		Name: "category-products", Title: "Read the products of a branch: by ancestors, or by paths", Doc: tree +
			" With ancestors the categories of the branch are listed first, and sent back with the query of the products.",
		Variants: designs("category-products-subtree", "design", "ancestors", "paths"),
	}, {
		Name: "comments-read", Title: "Read comments: from documents, from one for all, or from pages of a hundred",
		Doc: `Twenty-five comments are twenty-five documents, or a part of one or two. Of a document with all comments the server reads all, to cut a few out;
of pages only those that are shown.`,
		Variants: designs("comments-read", "design", "documents", "embedded", "pages"),
	}, {
		Name: "metadata", Title: "Find objects by any attribute: an array of keys and values, or fields under a wildcard index",
		Doc: `The array has one compound index of keys and values, whose entries begin with the key. The wildcard index has the same entries for fields; both serve one of
several conditions, and the others are compared with the documents.`,
		Variants: designs("metadata-find", "design", "array", "wildcard"),
	}}
}
