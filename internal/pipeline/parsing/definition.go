package parsing

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline/source"
)

// Definition describes a stage. At most one of Parse, Transform and Refuse is set. A stage with
// none of them is known but not implemented.
type Definition struct {
	Name string
	// Parse compiles a use of the stage with the argument arg.
	Parse func(arg bsonx.Value, opts Options) ([]Stage, error)
	// Transform compiles a use of a stage that yields exactly one document for each input document.
	// Only these stages are allowed in the pipeline of an update.
	Transform func(arg bsonx.Value, opts Options) (Transformer, error)
	// Refuse is the error that MongoDB itself returns outside of Atlas or a sharded cluster.
	Refuse *mongoerr.Error
	// NotOverCollection is the error for a stage with input FromServer that runs over a collection;
	// nil means the usual error.
	NotOverCollection *mongoerr.Error
	// NotExplained is the error code of an explain whose verbosity would run the stage. It is set
	// for the stages that write.
	NotExplained mongoerr.Code
	// Note is a remark shown in the list of stages.
	Note string
	// Internal marks a stage that only the server itself puts into pipelines.
	Internal bool

	Safety
	Properties

	// Inside tells the walker which pipelines, queries and expressions the argument contains. The
	// argument may be malformed. Every definition must set Inside, because access checks miss
	// sub-pipelines that it leaves out.
	Inside func(arg bsonx.Value, w Walker)

	// Foreign names the fields of the argument that contain pipelines over other documents than the
	// input. Such a pipeline is checked when it is opened.
	Foreign []string

	// Budget is the stage's own memory limit, which its Open takes from the environment. The zero
	// value means the limit that all stages have.
	Budget source.Budget
}

// Safety tells what a command may do because of the stage. Each definition answers for itself: no
// function has the answers of several stages, and a test rejects a definition in which one has the
// zero value.
type Safety struct {
	// Writes tells whether the stage writes to a collection. Such a stage must be the last.
	Writes feature.Answer
	// Transactions tells whether the stage is allowed in a transaction.
	Transactions feature.Answer
	// StableAPI tells which uses of the stage belong to the Stable API.
	StableAPI StableAPI
}

// Properties tell where a stage may stand and how it runs. Access checks rely on them, so they have
// no defaults: a test rejects a definition in which a property has the zero value.
type Properties struct {
	// Input is the origin of the stage's input documents. It decides whether the stage must be the
	// first.
	Input Input
	// Joined tells whether the stage is allowed in the pipelines of $lookup and $unionWith.
	Joined feature.Answer
	// Facets tells whether the stage is allowed in the pipelines of $facet.
	Facets feature.Answer
	// Views tells whether the stage is allowed in the pipeline of a view.
	Views feature.Answer
	// ChangeStreams tells whether the stage is allowed after $changeStream.
	ChangeStreams ChangeStreams
	// ReadConcern tells with which read concern levels the stage can run.
	ReadConcern ReadConcern
	// Metadata tells which kinds of {$meta: …} the argument may read.
	Metadata Metadata
	// Repeatable tells whether the stage gives the same results when it runs again on the same
	// documents.
	Repeatable feature.Answer
}

// Metadata tells which kinds of {$meta: …} the argument of a stage may read.
type Metadata byte

// Values of Metadata.
const (
	_           Metadata = iota
	MetaOfInput          // the kinds that the input documents have
	NoMeta               // none that a search gives
	AnyMeta              // all kinds; a kind that the input documents lack reads as missing
)

// Input is the origin of the input documents of a stage.
type Input byte

// Values of Input. A stage with another input than FromStages must be the first in its pipeline.
const (
	_              Input = iota
	FromStages           // the previous stage, or the collection if the stage is the first
	FromCollection       // the collection, which the stage reads by itself
	// FromStatistics means the server's statistics about the collection, whose documents are not
	// read.
	FromStatistics
	// FromViewStatistics is like FromStatistics, but over a view the statistics describe the view
	// and not the collection below it.
	FromViewStatistics
	FromServer  // no collection: {aggregate: 1}
	FromChanges // the change stream of a collection, a database or the deployment
)

// ChangeStreams tells whether a stage is allowed after $changeStream.
type ChangeStreams byte

// Values of ChangeStreams. A stage that is allowed yields at most one event per input event.
const (
	_                 ChangeStreams = iota
	NotInChangeStream               // not allowed
	InChangeStream                  // allowed
	OnlyLastInStream                // allowed as the last stage, and not in other pipelines
)

// StableAPI tells which uses of a stage belong to the Stable API.
type StableAPI byte

// Values of StableAPI.
const (
	_           StableAPI = iota
	NoUse                 // no use
	EveryUse              // all uses
	OfCountOnly           // uses whose argument has no other field than count
)

// Has reports whether the use of a stage with the argument arg belongs to the Stable API.
func (s StableAPI) Has(arg bsonx.Value) bool {
	if s != OfCountOnly || arg.Type != bsonx.TypeDocument {
		return s != NoUse
	}
	for it := arg.Doc().Iter(); it.Next(); {
		if string(it.Key()) != "count" {
			return false
		}
	}
	return true
}

// ReadConcern tells with which read concern levels a stage can run.
type ReadConcern byte

// Values of ReadConcern.
const (
	_            ReadConcern = iota
	AnyLevel                 // all levels, except that a stage that writes rejects linearizable
	OnlyLocal                // only local
	OnlyMajority             // only majority
)

// OfDocuments returns the properties of a stage that transforms documents and is allowed in all
// pipelines except change streams.
func OfDocuments() Properties {
	return Properties{
		Input: FromStages, Joined: feature.Yes, Facets: feature.Yes, Views: feature.Yes,
		ChangeStreams: NotInChangeStream, ReadConcern: AnyLevel, Metadata: MetaOfInput, Repeatable: feature.Yes,
	}
}

// OfEachDocument returns the properties of a stage that yields at most one document per input
// document. It is also allowed after $changeStream.
func OfEachDocument() Properties {
	r := OfDocuments()
	r.ChangeStreams = InChangeStream
	return r
}

// OfReport returns the properties of a stage that reports on the server.
func OfReport(input Input) Properties {
	return Properties{
		Input: input, Joined: feature.Yes, Facets: feature.No, Views: feature.Yes,
		ChangeStreams: NotInChangeStream, ReadConcern: OnlyLocal, Metadata: MetaOfInput, Repeatable: feature.Yes,
	}
}

// OfWriter returns the properties of a stage that writes its input documents to a collection.
func OfWriter() Properties {
	return Properties{
		Input: FromStages, Joined: feature.No, Facets: feature.No, Views: feature.No,
		ChangeStreams: NotInChangeStream, ReadConcern: AnyLevel, Metadata: MetaOfInput, Repeatable: feature.Yes,
	}
}

// IsFirst reports whether the stage must be the first in its pipeline.
func (r *Properties) IsFirst() bool { return r.Input != FromStages }
