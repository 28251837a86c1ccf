package update_test

import (
	"strings"
	"time"

	"go.mongodb.org/mongo-driver/v2/bson"

	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/expr"
	"github.com/sheafdb/sheaf/internal/filter"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
	"github.com/sheafdb/sheaf/internal/update"
)

var now = time.Unix(1_700_000_000, 0)

type compiler struct{ vars *expr.Vars }

// CompileFilter implements update.Compiler. It allows neither $expr nor $where.
func (c compiler) CompileFilter(doc bsonx.Doc) (update.Matcher, error) {
	return filter.Parse(doc, filter.Options{Vars: c.vars, Now: now})
}

// CompilePipeline implements update.Compiler.
func (c compiler) CompilePipeline(stages bsonx.Value) (update.Transformer, error) {
	return pipeline.ParseUpdate(stages, parsing.Options{Vars: c.vars, Now: now})
}

func options(vars *expr.Vars, filters bsonx.Value) update.Options {
	opts := update.Options{Compiler: compiler{vars}}
	if !filters.IsMissing() {
		for _, v := range filters.Doc().Values() {
			opts.ArrayFilters = append(opts.ArrayFilters, v.Doc())
		}
	}
	return opts
}

func toJSON(doc bsonx.Doc) string {
	text, err := bson.MarshalExtJSON(bson.Raw(doc), true, false)
	if err != nil {
		return err.Error()
	}
	return strings.TrimSpace(string(text))
}
