package command

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/storage"
)

// ClusterParameter is a parameter that setClusterParameter sets for all members of a replica set.
type ClusterParameter struct {
	Name string
	// Parse checks and parses a new value. at is the cluster time at which the parameter is set.
	Parse func(doc bsonx.Doc, at storage.Stamp) (clusterValue, error)
	// Value returns the current value.
	Value func(s *Service) clusterValue
}

// clusterValue is the value of a cluster parameter. It is immutable.
type clusterValue interface {
	// Document returns the value in the format of getClusterParameter, which is also the stored
	// format.
	Document() bsonx.Doc
	// Hold makes this value the current one of the service s.
	Hold(s *Service)
}

// ClusterTable lists all cluster parameters.
var ClusterTable = [...]ClusterParameter{
	{
		changeStreamOptions, func(doc bsonx.Doc, at storage.Stamp) (clusterValue, error) {
			return parseImagePolicy(doc, at)
		},
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
