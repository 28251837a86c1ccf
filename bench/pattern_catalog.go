package main

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"
	"go.mongodb.org/mongo-driver/v2/mongo/options"
)

const (
	pictures = 10_000
	cameras  = 100
)

// picture returns the i-th picture. All of its properties are in one array.
func picture(i int) bson.D {
	property := func(key, value string) bson.D { return bson.D{{"key", key}, {"value", value}} }
	return bson.D{{"_id", int64(i)}, {"user", int64(i % 321)}, {"metadata", bson.A{
		property("Camera", camera(i)), property("Flash", flash(i/cameras)), property("ISO", fmt.Sprint(100*(i%17))),
		property("MIME type", "image/jpeg"), property("Author", fmt.Sprintf("author%03d", i%500)),
	}}}
}

func camera(i int) string { return fmt.Sprintf("camera%02d", i%cameras) }

func flash(i int) string { return []string{"No, auto", "Yes"}[i%2] }

// picturesFound is the number of pictures with a given camera and a given value of flash.
const picturesFound = pictures / cameras / 2

func metadataByHand(ctx context.Context, db *mongo.Database) (*routine, error) {
	c := db.Collection("pictures")
	if err := fill(ctx, c, pictures, picture); err != nil {
		return nil, err
	}
	match := func(key, value string) bson.D {
		return field("$elemMatch", bson.D{{"key", key}, {"value", value}})
	}
	return repeat(func(ctx context.Context, w *worker) error {
		filter := field("metadata",
			field("$all", bson.A{match("Camera", camera(w.rng.IntN(cameras))), match("Flash", flash(w.rng.IntN(2)))}))
		return expect(ctx, c, picturesFound, filter, options.Find())
	}), indexOn(ctx, c, bson.D{{"metadata.key", 1}, {"metadata.value", 1}})
}

func pgMetadata(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
	if err := pgTable(ctx, pool, "pictures", "bigint", "using gin ((doc->'metadata') jsonb_path_ops)"); err != nil {
		return nil, err
	}
	const q = `select id, doc from pictures where doc->'metadata' @>
		jsonb_build_array(jsonb_build_object('key', 'Camera', 'value', $1::text), jsonb_build_object('key', 'Flash', 'value', $2::text))`
	return repeat(func(ctx context.Context, w *worker) error {
		return pgExpect(ctx, pool, picturesFound, q, camera(w.rng.IntN(cameras)), flash(w.rng.IntN(2)))
	}), pgFill(ctx, pool, "pictures", pictures, picture)
}

// These are the numbers of children at each of the three levels of the tree of categories.
const (
	tops     = 20
	middles  = 4
	children = 20
)

// categoryDocs returns the documents of all categories.
func categoryDocs() []bson.D {
	var docs []bson.D
	add := func(parent, name string) string {
		path := parent + "/" + name
		docs = append(docs, bson.D{
			{"_id", int64(len(docs))}, {"name", name}, {"parent", parent + "/"}, {"category", path + "/"},
		})
		return path
	}
	for t := range tops {
		top := add("", topName(t))
		for m := range middles {
			middle := add(top, middleName(m))
			for l := range children {
				add(middle, fmt.Sprintf("leaf%02d", l))
			}
		}
	}
	return docs
}

func topName(i int) string    { return fmt.Sprintf("top%02d", i) }
func middleName(i int) string { return fmt.Sprintf("middle%02d", i) }

// childrenOf returns the path of a random category of the second level, whose children a worker
// then finds.
func childrenOf(w *worker) string {
	return "/" + topName(w.rng.IntN(tops)) + "/" + middleName(w.rng.IntN(middles)) + "/"
}

func subtreeOf(w *worker) string { return "/" + topName(w.rng.IntN(tops)) + "/" }

func categoryTree(what string) mongoPattern {
	return func(ctx context.Context, db *mongo.Database) (*routine, error) {
		c, docs := db.Collection("categories"), categoryDocs()
		if err := fill(ctx, c, len(docs), func(i int) bson.D { return docs[i] }); err != nil {
			return nil, err
		}
		do := func(ctx context.Context, w *worker) error {
			return expect(ctx, c, children, field("parent", childrenOf(w)), options.Find())
		}
		if what == "subtree" {
			do = func(ctx context.Context, w *worker) error {
				return expect(ctx, c, middles*(children+1),
					field("parent", bson.Regex{Pattern: "^" + subtreeOf(w)}), options.Find())
			}
		}
		return repeat(do), indexOn(ctx, c, field("category", 1), field("parent", 1))
	}
}

func pgCategories(what string) postgresPattern {
	return func(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
		if err := pgTable(ctx, pool, "categories", "bigint", "((doc->>'category'))", "((doc->>'parent'))"); err != nil {
			return nil, err
		}
		do := func(ctx context.Context, w *worker) error {
			return pgExpect(ctx, pool, children,
				"select id, doc from categories where doc->>'parent' = $1", childrenOf(w))
		}
		if what == "subtree" {
			do = func(ctx context.Context, w *worker) error {
				from := subtreeOf(w)
				return pgExpect(ctx, pool, middles*(children+1), "select id, doc from categories where doc->>'parent' >= $1 and doc->>'parent' < $2", from, from+"\x7f")
			}
		}
		docs := categoryDocs()
		return repeat(do), pgFill(ctx, pool, "categories", len(docs), func(i int) bson.D { return docs[i] })
	}
}

// Each category has names in many languages. Each product holds a copy of the names of its
// category.
const (
	named            = 1000
	productsPerNamed = 10
	locales          = 20
)

func localeName(i int64) string { return fmt.Sprintf("lang-%02d", i) }

// names returns the names of a category in the first n languages.
func names(category, n int) bson.D {
	d := bson.D{}
	for i := range n {
		d = append(d, bson.E{localeName(int64(i)), fmt.Sprintf("name %d of %d", i, category)})
	}
	return d
}

func namedCategory(n int) func(i int) bson.D {
	return func(i int) bson.D { return bson.D{{"_id", int64(i)}, {"names", names(i, n)}} }
}

func namedProduct(n int) func(i int) bson.D {
	return func(i int) bson.D {
		c := i / productsPerNamed
		return bson.D{
			{"_id", int64(i)},
			{"cost", int64(i % 97)},
			{"categories", bson.A{bson.D{{"_id", int64(c)}, {"names", names(c, n)}}}},
		}
	}
}

// nextLocale returns a category and a language. It returns each pair once in named*locales calls,
// and then begins again.
func nextLocale(w *worker) (category int64, name string) {
	n := w.ids.Add(1) - 1
	return n % named, localeName(n / named % locales)
}

// initialLocales returns how many languages the names have before the load: none if languages are
// added, and all if they are removed.
func initialLocales(add bool) int {
	if add {
		return 0
	}
	return locales
}

// locale adds a language to a category and its products, or removes it.
func locale(add bool) mongoPattern {
	return func(ctx context.Context, db *mongo.Database) (*routine, error) {
		c, products := db.Collection("categories"), db.Collection("products")
		n := initialLocales(add)
		if err := fill(ctx, c, named, namedCategory(n)); err != nil {
			return nil, err
		}
		if err := fill(ctx, products, named*productsPerNamed, namedProduct(n)); err != nil {
			return nil, err
		}
		change := func(prefix, name string, by int64) bson.D {
			if add {
				return field("$set", field(prefix+name, fmt.Sprintf("a name %d", by)))
			}
			return field("$unset", field(prefix+name, 1))
		}
		return repeat(func(ctx context.Context, w *worker) error {
			id, name := nextLocale(w)
			if err := changeOne(ctx, c, field("_id", id), change("names.", name, id)); err != nil {
				return err
			}
			r, err := products.UpdateMany(ctx, field("categories._id", id), change("categories.$.names.", name, id))
			if err == nil && r.MatchedCount != productsPerNamed {
				return fmt.Errorf("%d products matched", r.MatchedCount)
			}
			return err
		}), indexOn(ctx, products, field("categories._id", 1))
	}
}

func pgLocale(add bool) postgresPattern {
	// Each update searches for the element of the array again, because MongoDB's positional
	// operator does the same.
	const (
		position     = "(select ordinality - 1 from jsonb_array_elements(doc->'categories') with ordinality where value->'_id' = to_jsonb($1::bigint) limit 1)::text"
		path         = "array['categories', " + position + ", 'names', $2]"
		ofCategory   = " where doc->'categories' @> jsonb_build_array(jsonb_build_object('_id', $1::bigint))"
		addName      = "update categories set doc = jsonb_set(doc, array['names', $2], to_jsonb($3::text)) where id = $1"
		addNames     = "update products set doc = jsonb_set(doc, " + path + ", to_jsonb($3::text))" + ofCategory
		removeName   = "update categories set doc = doc #- array['names', $2] where id = $1"
		removeNames  = "update products set doc = doc #- " + path + ofCategory
		productIndex = "using gin ((doc->'categories') jsonb_path_ops)"
	)
	return func(ctx context.Context, pool *pgxpool.Pool) (*routine, error) {
		if err := pgTable(ctx, pool, "categories", "bigint"); err != nil {
			return nil, err
		}
		if err := pgTable(ctx, pool, "products", "bigint", productIndex); err != nil {
			return nil, err
		}
		n := initialLocales(add)
		if err := pgFill(ctx, pool, "categories", named, namedCategory(n)); err != nil {
			return nil, err
		}
		return repeat(func(ctx context.Context, w *worker) error {
			id, name := nextLocale(w)
			one, many, args := removeName, removeNames, []any{id, name}
			if add {
				one, many, args = addName, addNames, []any{id, name, fmt.Sprintf("a name %d", id)}
			}
			if err := pgChange(ctx, pool, one, args...); err != nil {
				return err
			}
			tag, err := pool.Exec(ctx, many, args...)
			if err == nil && tag.RowsAffected() != productsPerNamed {
				return fmt.Errorf("%d products changed", tag.RowsAffected())
			}
			return err
		}), pgFill(ctx, pool, "products", named*productsPerNamed, namedProduct(n))
	}
}
