package pipeline

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// EachStage calls fn for each stage of a pipeline and of the pipelines nested in it, until fn
// returns an error. The pipeline may be malformed. EachStage skips stages with unknown names.
func EachStage(stages bsonx.Value, fn func(def *parsing.Definition, arg bsonx.Value) error) error {
	w := &eachStage{fn: fn}
	w.Pipeline(stages)
	return w.err
}

// eachStage is the parsing.Walker of EachStage.
type eachStage struct {
	parsing.Ignoring
	fn  func(def *parsing.Definition, arg bsonx.Value) error
	err error
}

// Pipeline implements parsing.Walker.
func (w *eachStage) Pipeline(stages bsonx.Value) {
	for def, arg := range stagesOf(stages) {
		if w.err != nil {
			return
		}
		if w.err = w.fn(def, arg); w.err == nil {
			def.Inside(arg, w)
		}
	}
}

// Collections returns the names of the collections in the same database that stages and their
// nested pipelines read. The stages may be malformed.
func Collections(stages bsonx.Value) []string {
	w := &collections{}
	w.Pipeline(stages)
	return w.names
}

// collections is the parsing.Walker of Collections.
type collections struct {
	parsing.Ignoring
	names []string
}

// Collection implements parsing.Walker.
func (w *collections) Collection(name string) { w.names = append(w.names, name) }

// Pipeline implements parsing.Walker.
func (w *collections) Pipeline(stages bsonx.Value) {
	for def, arg := range stagesOf(stages) {
		def.Inside(arg, w)
	}
}

// stagesOf yields the definition and argument of each stage in a pipeline. It skips stages that
// have no definition.
func stagesOf(stages bsonx.Value) func(yield func(*parsing.Definition, bsonx.Value) bool) {
	return func(yield func(*parsing.Definition, bsonx.Value) bool) {
		if stages.Type != bsonx.TypeArray {
			return
		}
		for it := stages.Doc().Iter(); it.Next(); {
			if it.Value().Type != bsonx.TypeDocument || it.Value().Doc().IsEmpty() {
				continue
			}
			stage := it.Value().Doc().First()
			if def := registry()[string(stage.Key)]; def != nil && !yield(def, stage.Value) {
				return
			}
		}
	}
}

// LastWrites reports whether the last stage of an array of stages writes. It returns false if
// stages is not an array or the last element is not a stage, because such stages do not compile.
func LastWrites(stages bsonx.Value) bool {
	if stages.Type != bsonx.TypeArray {
		return false
	}
	last := bsonx.Value{}
	for it := stages.Doc().Iter(); it.Next(); {
		last = it.Value()
	}
	return last.Type == bsonx.TypeDocument && Writes(string(last.Doc().First().Key))
}
