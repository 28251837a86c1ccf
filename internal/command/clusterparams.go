package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
)

// ClusterParameter is a parameter of all members.
type ClusterParameter struct {
	Name string
	// Parse reads a new value, which is set at the given time.
	Parse func(doc bsonx.Doc, at storage.Stamp) (clusterValue, error)
	// Value returns the current value.
	Value func(s *Service) clusterValue
}

// clusterValue is the value of a cluster parameter. It is immutable.
type clusterValue interface {
	// Document returns the value as it is shown and stored.
	Document() bsonx.Doc
	// Hold makes this the current value.
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
