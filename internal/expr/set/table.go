package set

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/collation"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/interrupt"
)

// Operators returns the definitions of the package.
func Operators() []expr.Definition {
	return []expr.Definition{
		expr.Lazily(expr.CollateAssociative("$setUnion", "set", expr.Commutable, func(c *collation.Collator) expr.WatchingN {
			return func(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
				return sets{c, running}.union(args)
			}
		}), 1),
		expr.Lazily(expr.CollateAssociative("$setIntersection", "set", expr.Commutable, func(c *collation.Collator) expr.WatchingN {
			return func(args []bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
				return sets{c, running}.intersection(args)
			}
		}), 1),
		expr.Collate2("$setDifference", "set", func(c *collation.Collator) expr.Watching2 {
			return func(a, b bsonx.Value, running *interrupt.Running) (bsonx.Value, error) {
				return sets{c, running}.difference(a, b)
			}
		}),
		{Name: "$setEquals", Family: "set", Min: 2, Max: -1, Parse: parseEquals},
		expr.Lazily(isSubsetOperator(), 1, bsonx.Missing, bsonx.NewArray()),
		expr.Watch1("$allElementsTrue", "set", allElementsTrue),
		expr.Watch1("$anyElementTrue", "set", anyElementTrue),
	}
}
