package scenarios

import (
	"context"
	"encoding/binary"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/category"
	"github.com/sheafdb/sheaf/sim/scenario"
)

// categoryDoc describes the documents of all category scenarios.
const categoryDoc = `

The parameters give the number of levels, and of children of each category. Products are distributed evenly over all categories. The number of documents
in an answer is checked.

  categories: {_id, slug: "c-1-3", name: "Category 1-3", parent, rank: 3, change: 0, ancestors: [{_id, slug: "c-1", name: "Category 1"}]}
  categories: {…, path: "/c-1/c-1-3/"}                                                     with design paths
  products:   {_id: 17, name: "Product 17", price: 1700, categories: [ObjectId("…")]}      or [{_id, path}]`

func categoryScenarios() []*scenario.Definition {
	params := []scenario.Param{
		whole("depth", "how many levels the tree has", 5, 1, 12),
		whole("width", "how many children a category has", 5, 1, 100),
		whole("level", "level of the categories that users pick; 1 is the top, and 0 means any level", 3, 0, 12),
		whole("numberOfProducts", "how many products there are", 1000, 0, 10_000_000),
		choice("design", "how a category stores its ancestors", "ancestors", "paths"),
	}
	define := func(name, alias, title, doc string, users int,
		read func(s *categories) categoryRead,
	) *scenario.Definition {
		return &scenario.Definition{
			Name: name, Aliases: []string{alias}, Group: "category", Users: users, Params: params,
			Title: title, Doc: doc + categoryDoc,
			New: func(env scenario.Env) (scenario.Scenario, error) { return newCategories(env, read) },
		}
	}
	return []*scenario.Definition{
		define("category-children", "retrieve_direct_child_categories", "Read the categories directly below one",
			"A user opens a menu: the children of a category, by 1 find that an index alone answers.", 1000,
			func(s *categories) categoryRead { return s.readChildren }),
		define("category-subtree", "retrieve_entire_sub_tree_by_category", "Read a category and all below it",
			"A user reads a whole branch: 1 find of the category, 1 find of those below it.", 1000,
			func(s *categories) categoryRead { return s.readSubtree }),
		define("category-products", "retrieve_products_by_category", "Read the products of a category",
			"A user reads the products of a category: 1 find of the category, 1 find of its products.", 500,
			func(s *categories) categoryRead { return s.readProducts }),
		define("category-products-children", "retrieve_products_by_categories_direct_children",
			"Read the products of the children of a category",
			"A user reads the products of the categories directly below one: 1 find of these, 1 find of their products.", 500,
			func(s *categories) categoryRead { return s.readProductsOfChildren }),
		define("category-products-subtree", "retrieve_products_by_category_subtree",
			"Read the products of a category and of all below it",
			`A user reads the products of a whole branch: 1 find of the category, then with design ancestors 1 distinct of the categories below it and
1 find of their products, with design paths 1 find of a range of paths.`, 500,
			func(s *categories) categoryRead { return s.readProductsOfSubtree }),
	}
}

// categoryRead reads the documents that belong to a category. It returns the number of documents,
// and the number that it should have found.
type categoryRead func(ctx context.Context, n int) (got, want int, err error)

// categories is a scenario that reads a tree. Its categories are numbered level by level. The root
// is category 0, which does not exist; the children of n are n*width+1 to n*width+width.
type categories struct {
	still
	*category.Tree
	categories, products   *mongo.Collection
	depth, width, level    int
	numberOfProducts, size int
	stocked                []int // how many products each category has, by its number minus 1
	design                 category.Design
	read                   categoryRead
}

func newCategories(env scenario.Env, read func(s *categories) categoryRead) (scenario.Scenario, error) {
	p := env.Params
	s := &categories{
		categories: env.DB.Collection(category.DefaultCollection),
		products:   env.DB.Collection(category.DefaultProducts),
		depth:      p.Int("depth"), width: p.Int("width"), level: p.Int("level"),
		numberOfProducts: p.Int("numberOfProducts"),
	}
	if s.level > s.depth {
		return nil, fmt.Errorf("a tree of depth %d has no level %d", s.depth, s.level)
	}
	const most = 5_000_000
	if s.size = s.upTo(s.depth); s.size > most {
		return nil, fmt.Errorf("a tree of depth %d and width %d has more than %d categories", s.depth, s.width, most)
	}
	if p.String("design") == "paths" {
		s.design = category.Paths
	}
	s.read, s.stocked = read(s), make([]int, s.size)
	for i := range s.numberOfProducts {
		s.stocked[s.categoryOf(i)-1]++
	}
	var err error
	s.Tree, err = category.New(env.DB, category.Config{Env: env.Patterns, Design: s.design})
	return s, err
}

// upTo returns the number of categories on the first levels. If that number is too large for any
// tree, the result is just some large number.
func (s *categories) upTo(levels int) (n int) {
	each := 1
	for range levels {
		each *= s.width
		n += each
		const great = 1 << 30
		if n > great {
			return n
		}
	}
	return n
}

// idOf returns the _id of category n.
func idOf(n int) (id bson.ObjectID) {
	binary.BigEndian.PutUint64(id[4:], uint64(n))
	return id
}

// chain returns a category and its ancestors, nearest first.
func (s *categories) chain(n int) (out []int) {
	for ; n > 0; n = (n - 1) / s.width {
		out = append(out, n)
	}
	return out
}

// label returns the end of a category's slug and name. It consists of the positions of its
// ancestors and of the category among their siblings.
func (s *categories) label(n int) (out string) {
	for _, c := range s.chain(n) {
		out = fmt.Sprintf("-%d", (c-1)%s.width+1) + out
	}
	return out
}

func (s *categories) slug(n int) string { return "c" + s.label(n) }

func (s *categories) path(n int) string {
	out := "/"
	for _, c := range s.chain(n) {
		out = "/" + s.slug(c) + out
	}
	return out
}

// document returns a category as the pattern stores it. Adding thousands of categories through the
// pattern would take longer than a run.
func (s *categories) document(n int) bson.D {
	doc := bson.D{
		{"_id", idOf(n)},
		{"slug", s.slug(n)},
		{"name", "Category " + s.label(n)[1:]},
		{"parent", nil},
		{"rank", (n-1)%s.width + 1},
		{"change", int64(0)},
	}
	above := s.chain(n)[1:]
	if len(above) > 0 {
		doc[3].Value = idOf(above[0])
	}
	if s.design == category.Paths {
		return append(doc, bson.E{"path", s.path(n)})
	}
	crumbs := make([]category.Crumb, len(above))
	for i, c := range above {
		crumbs[i] = category.Crumb{ID: idOf(c), Slug: s.slug(c), Name: "Category " + s.label(c)[1:]}
	}
	return append(doc, bson.E{"ancestors", crumbs})
}

// stride is the distance between the categories of two consecutive products.
const stride = 7919

// categoryOf returns the number of the category of a product.
func (s *categories) categoryOf(product int) int { return product*stride%s.size + 1 }

func (s *categories) product(i int) any {
	n := s.categoryOf(i)
	tag := any(idOf(n))
	if s.design == category.Paths {
		tag = bson.D{{"_id", idOf(n)}, {"path", s.path(n)}}
	}
	return bson.D{
		{"_id", i},
		{"name", fmt.Sprint("Product ", i)},
		{"price", i * 100},
		{category.DefaultField, bson.A{tag}},
	}
}

// Setup implements scenario.Scenario.
func (s *categories) Setup(ctx context.Context) error {
	if err := fill(ctx, s.categories, s.size, func(i int) any { return s.document(i + 1) }); err != nil {
		return err
	}
	if err := fill(ctx, s.products, s.numberOfProducts, s.product); err != nil {
		return err
	}
	return s.EnsureIndexes(ctx)
}

// Run implements scenario.Scenario.
func (s *categories) Run(ctx context.Context, u *scenario.User) error {
	n := 1 + u.Rand.IntN(s.size)
	if s.level > 0 {
		above := s.upTo(s.level - 1)
		n = above + 1 + u.Rand.IntN(s.upTo(s.level)-above)
	}
	got, want, err := s.read(ctx, n)
	if err == nil && got != want {
		err = fmt.Errorf("wrong answer: for category %d there are %d documents, not %d", n, want, got)
	}
	u.Count("read", int64(got))
	return err
}

func (s *categories) readChildren(ctx context.Context, n int) (got, want int, err error) {
	found, err := s.Children(ctx, idOf(n))
	return len(found), len(s.children(n)), err
}

// children returns the categories directly below a category.
func (s *categories) children(n int) (out []int) {
	for c := n*s.width + 1; c <= n*s.width+s.width && c <= s.size; c++ {
		out = append(out, c)
	}
	return out
}

func (s *categories) readSubtree(ctx context.Context, n int) (got, want int, err error) {
	found, err := s.Subtree(ctx, idOf(n))
	return len(found), s.below(n, func(int) int { return 1 }), err
}

// below adds up the values of function of for a category and all categories below it.
func (s *categories) below(n int, of func(n int) int) (sum int) {
	for first, last := n, n; first <= s.size; first, last = first*s.width+1, last*s.width+s.width {
		for c := first; c <= last && c <= s.size; c++ {
			sum += of(c)
		}
	}
	return sum
}

// productsOf returns how many products a category has.
func (s *categories) productsOf(n int) int { return s.stocked[n-1] }

func (s *categories) readProducts(ctx context.Context, n int) (got, want int, err error) {
	cur, err := s.Products(ctx, idOf(n), category.Here)
	if err != nil {
		return 0, 0, err
	}
	got, err = drain(ctx, cur)
	return got, s.productsOf(n), err
}

func (s *categories) readProductsOfSubtree(ctx context.Context, n int) (got, want int, err error) {
	cur, err := s.Products(ctx, idOf(n), category.AndBelow)
	if err != nil {
		return 0, 0, err
	}
	got, err = drain(ctx, cur)
	return got, s.below(n, s.productsOf), err
}

func (s *categories) readProductsOfChildren(ctx context.Context, n int) (got, want int, err error) {
	found, err := s.Children(ctx, idOf(n))
	if err != nil {
		return 0, 0, err
	}
	ids := make([]bson.ObjectID, len(found))
	for i, c := range found {
		ids[i] = c.ID
	}
	field := category.DefaultField
	if s.design == category.Paths {
		field += "._id"
	}
	cur, err := s.products.Find(ctx, bson.D{{field, bson.D{{"$in", ids}}}})
	if err != nil {
		return 0, 0, fmt.Errorf("find the products of %d categories: %w", len(ids), err)
	}
	got, err = drain(ctx, cur)
	for _, c := range s.children(n) {
		want += s.productsOf(c)
	}
	return got, want, err
}

// Check implements scenario.Scenario.
func (s *categories) Check(ctx context.Context, _ scenario.Tally) ([]patterns.Violation, error) {
	out, err := s.Tree.Check(ctx)
	if err != nil {
		return nil, err
	}
	for coll, want := range map[*mongo.Collection]int{s.categories: s.size, s.products: s.numberOfProducts} {
		n, err := countOf(ctx, coll, bson.D{})
		if err != nil {
			return nil, err
		}
		out = append(out, counted("readers change nothing", coll.Name(), n, int64(want), 0)...)
	}
	return out, nil
}
