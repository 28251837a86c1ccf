package scenarios

// Contest is a problem with several designs that are compared under the same load.
type Contest struct {
	// Name identifies the contest, for example "cart".
	Name string
	// Title is one line of text. Doc says the arguments for each design, before any measurement.
	Title, Doc string
	Variants   []Variant
}

// Variant is a design. The users of all variants of a contest do the same work.
type Variant struct {
	// Label names the design.
	Label string
	// Scenario is the name of the scenario that users execute. Params are its parameters.
	Scenario string
	Params   map[string]any
}

// designs returns variants of a scenario that differ in the value of one parameter. The labels of
// the variants are these values.
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
		Name: "cart", Title: "Reserve stock when it is put into the cart, or when it is paid",
		Doc: `With a reservation, the customer learns at once if a product is sold out. But each product is written twice for each cart that contains it. Without
a reservation, the stock changes once, for all products of the cart together, and abandoned carts reserve nothing.`,
		Variants: []Variant{{"reserve", "cart-reserve", nil}, {"checkout", "cart-checkout", nil}},
	}, {
		Name: "comments", Title: "Write comments: as documents, into one for all, or into pages of a hundred",
		Doc: `A comment in its own document is one insert. A comment inside of another document makes the server rewrite that whole document, which grows with the
discussion. A page bounds this, but must be found first.`,
		Variants: designs("comments-post", "design", "documents", "embedded", "pages"),
	}, {
		Name: "counters", Title: "Count hits: one number, or a document of a day, flat or in levels, with months or without",
		Doc: `One number stores only the total. A document for each day has each minute and hour, for charts; with levels, the server skips fewer names to find a
minute. Months cost one more find and update. A writer that gathers hits pays once for many of them.`,
		Variants: []Variant{
			{"plain", "hits-plain", nil},
			{"levels", "hits", map[string]any{"months": false}},
			{"flat", "hits", map[string]any{"months": false, "form": "flat"}},
			{"levels and months", "hits", nil},
			{"gathered", "hits", map[string]any{"writer": "gather"}},
		},
	}, {
		Name: "slice", Title: "The latest items in their parent, with or without preallocated space",
		Doc: `A document that has its full size from the beginning does not grow. That mattered to storage engines that updated documents in place. An engine that
rewrites documents writes the unused space, too.`,
		Variants: []Variant{
			{"room made", "slice", map[string]any{"preAllocate": true}},
			{"as it grows", "slice", map[string]any{"preAllocate": false}},
		},
	}, {
		Name: "timeseries", Title: "Samples in buckets (preallocated or not), in windows, or in a time-series collection of the server",
		Doc: `Samples increment a bucket, so its size depends only on its period, however many samples there are. The server's time-series collections keep each
sample, compressed, and need no updates.`,
		Variants: []Variant{
			{"buckets made", "timeseries", map[string]any{"preAllocate": true}},
			{"buckets", "timeseries", map[string]any{"preAllocate": false}},
			{"windows", "timeseries", map[string]any{"design": "windows"}},
			{"native", "timeseries", map[string]any{"design": "native"}},
		},
	}, {
		Name: "transfer", Title: "A transfer in two phases, or in a transaction of the server",
		Doc: `Two phases take five commands. Each changes single documents, and works on any server. A transaction takes fewer commands, but is retried if others
change the same account at the same time. It needs a replica set.`,
		Variants: designs("transfer", "design", "twophase", "transaction"),
	}}
}

func readContests() []Contest {
	const tree = `With ancestors in an array, reading a category also returns its breadcrumbs. With a path, one range of an index finds a whole branch.`
	return []Contest{{
		Name: "category", Title: "Read a branch of a tree: by ancestors, or by paths", Doc: tree,
		Variants: designs("category-subtree", "design", "ancestors", "paths"),
	}, {
		Name: "category-children", Title: "Read the children of a category: by ancestors, or by paths",
		Doc:      "Both designs read only the same index. The documents differ in size, but they are not read.",
		Variants: designs("category-children", "design", "ancestors", "paths"),
	}, {
		Name: "category-products", Title: "Read the products of a branch: by ancestors, or by paths", Doc: tree +
			" With ancestors the categories of the branch are listed first, and sent back with the query of the products.",
		Variants: designs("category-products-subtree", "design", "ancestors", "paths"),
	}, {
		Name: "comments-read", Title: "Read comments: from documents, from one for all, or from pages of a hundred",
		Doc: `Twenty-five comments are twenty-five documents, or a part of one or two documents. To return a few comments of a document with all comments, the server
reads the whole document. With pages, it reads only the shown ones.`,
		Variants: designs("comments-read", "design", "documents", "embedded", "pages"),
	}, {
		Name: "metadata", Title: "Find objects by any attribute: an array of keys and values, or fields under a wildcard index",
		Doc: `The array has one compound index of keys and values. The wildcard index has the same entries for fields. Both can serve one of several conditions; the
server checks the other conditions on the documents.`,
		Variants: designs("metadata-find", "design", "array", "wildcard"),
	}}
}
