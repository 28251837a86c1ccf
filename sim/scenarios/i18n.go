package scenarios

import (
	"context"
	"fmt"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/patterns"
	"github.com/sheafdb/sheaf/patterns/i18n"
	"github.com/sheafdb/sheaf/sim/scenario"
)

func i18nScenarios() []*scenario.Definition {
	const doc = `: 1 findAndModify of the category, 1 update of all products that hold a copy of its names, 1 update that ends the
change. In the end, every copy has the names of its category.

  categories: {_id: 1, names: {"l3": "17 in l3", …}, rev: NumberLong(2)}
  products:   {_id: 7, cost: 700, categories: [{_id: 1, names: {…}, rev: NumberLong(2)}]}`
	define := func(name, alias, title, what string, remove bool) *scenario.Definition {
		return &scenario.Definition{
			Name: name, Aliases: []string{alias}, Group: "i18n", Users: 1000, Title: title, Doc: what + doc,
			Params: []scenario.Param{
				whole("numberOfProducts", "how many products there are", 1000, 0, 10_000_000),
				whole("numberOfCategories", "how many categories there are", 256, 1, 1_000_000),
				whole("categoriesPerProduct", "how many categories a product has", 1, 1, 50),
				whole("locales", "how many locales users choose from; with i18n-remove, categories have them all at the beginning", 100, 1, i18n.MaxLocales),
			},
			New: func(env scenario.Env) (scenario.Scenario, error) { return newTranslating(env, remove) },
		}
	}
	return []*scenario.Definition{
		define("i18n-add", "multilanguage_add_new_local", "Give a category its name in another language",
			"A user gives one of the categories its name in one of the locales", false),
		define("i18n-remove", "multilanguage_remove_local", "Take the name in a language away from a category",
			"A user takes the name in one of the locales away from one of the categories", true),
	}
}

// translating implements the scenarios of package i18n.
type translating struct {
	still
	*i18n.Texts
	categories, products                          *mongo.Collection
	numberOfCategories, numberOfProducts, holding int
	locales                                       int
	remove                                        bool
}

func newTranslating(env scenario.Env, remove bool) (scenario.Scenario, error) {
	p := env.Params
	s := &translating{
		categories: env.DB.Collection("categories"), products: env.DB.Collection("products"),
		numberOfCategories: p.Int("numberOfCategories"), numberOfProducts: p.Int("numberOfProducts"),
		locales: p.Int("locales"), remove: remove,
	}
	s.holding = min(p.Int("categoriesPerProduct"), s.numberOfCategories)
	var err error
	s.Texts, err = i18n.New(env.DB, i18n.Config{
		Env: env.Patterns, Collection: s.categories.Name(),
		Copies: []i18n.Copy{{Collection: s.products.Name(), Array: "categories"}},
	})
	return s, err
}

func localeOf(n int) string { return fmt.Sprint("l", n) }

func translation(category, locale int) string { return fmt.Sprintf("%d in l%d", category, locale) }

// text returns the initial texts of a category.
func (s *translating) text(category int) i18n.Text {
	names := i18n.Names{localeOf(0): translation(category, 0)}
	if s.remove {
		for l := range s.locales {
			names[localeOf(l)] = translation(category, l)
		}
	}
	return i18n.Text{ID: category, Names: names, Rev: 1}
}

// Setup implements scenario.Scenario.
func (s *translating) Setup(ctx context.Context) error {
	texts := make([]i18n.Text, s.numberOfCategories)
	for i := range texts {
		texts[i] = s.text(i)
	}
	if err := fill(ctx, s.categories, len(texts), func(i int) any { return texts[i] }); err != nil {
		return err
	}
	err := fill(ctx, s.products, s.numberOfProducts, func(i int) any {
		copies := make([]i18n.Text, s.holding)
		for c := range copies {
			copies[c] = texts[(i+c)%len(texts)]
		}
		return bson.D{{"_id", i}, {"cost", i * 100}, {"categories", copies}}
	})
	if err != nil {
		return err
	}
	return s.EnsureIndexes(ctx)
}

// Run implements scenario.Scenario.
func (s *translating) Run(ctx context.Context, u *scenario.User) error {
	category, locale := u.Rand.IntN(s.numberOfCategories), u.Rand.IntN(s.locales)
	var err error
	if s.remove {
		err = s.Unset(ctx, category, localeOf(locale))
	} else {
		err = s.Set(ctx, category, localeOf(locale), translation(category, locale))
	}
	if err == nil {
		u.Count("changes", 1)
	}
	return err
}

// Check implements scenario.Scenario.
func (s *translating) Check(ctx context.Context, t scenario.Tally) ([]patterns.Violation, error) {
	if unsure(t, 1) > 0 {
		if _, err := s.Repair(ctx); err != nil {
			return nil, err
		}
	}
	out, err := s.Texts.Check(ctx)
	if err != nil {
		return nil, err
	}
	var changes int64
	err = patterns.EachOf(ctx, s.categories, func(c *struct {
		ID    int        `bson:"_id"`
		Names i18n.Names `bson:"names"`
		Rev   int64      `bson:"rev"`
	},
	) {
		changes += c.Rev - 1
		for locale, name := range c.Names {
			if want := fmt.Sprintf("%d in %s", c.ID, locale); name != want {
				detail := fmt.Sprintf("its name in %s is %q, not %q", locale, name, want)
				out = append(out, patterns.Violation{
					Rule:       "a name agrees with its category and locale",
					Collection: s.categories.Name(), ID: c.ID, Detail: detail,
				})
			}
		}
	})
	return append(out, counted("every change was made once", s.categories.Name(), changes,
		t.Together["changes"], unsure(t, 1))...), err
}
