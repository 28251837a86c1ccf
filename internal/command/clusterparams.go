package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
)

// ClusterParameter is a parameter of all members.
type ClusterParameter struct {
	Name string
	// parse reads a value that is set at a time.
	Parse func(doc bsonx.Doc, at storage.Stamp) (clusterValue, error)
	// value returns the one that holds.
	Value func(s *Service) clusterValue
}

// clusterValue is the value of a cluster parameter. It is immutable.
type clusterValue interface {
	// document is the value as it is shown and kept.
	Document() bsonx.Doc
	// hold makes the value the one that holds.
	Hold(s *Service)
}

// ClusterTable has the cluster parameters.
var ClusterTable = [...]ClusterParameter{
	{
		changeStreamOptions, func(doc bsonx.Doc, at storage.Stamp) (clusterValue, error) { return parseImagePolicy(doc, at) },
		func(s *Service) clusterValue { return s.images.Load() },
	},
	{
		defaultMaxTime, func(doc bsonx.Doc, at storage.Stamp) (clusterValue, error) { return parseReadLimit(doc, at) },
		func(s *Service) clusterValue { return s.ReadLimit.Load() },
	},
}

// Hold implements clusterValue.
func (p *imagePolicy) Hold(s *Service) { s.images.Store(p) }

// Hold implements clusterValue.
func (l *readLimit) Hold(s *Service) { s.ReadLimit.Store(l) }
