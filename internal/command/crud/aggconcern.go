package crud

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// CheckConcerns refuses read and write concerns that the stages of a pipeline have no use for.
func CheckConcerns(r *command.Request, stages bsonx.Value) error {
	rc, wc := &r.Generic.ReadConcern, &r.Generic.WriteConcern
	if !wc.Given && rc.Level == "" {
		return nil
	}
	last := ""
	for it := stages.Doc().Iter(); it.Next(); {
		if it.Value().Type != bsonx.TypeDocument {
			continue // an error of its own
		}
		last = string(it.Value().Doc().First().Key)
		if reason := stageRefuses(last, rc.Level); reason != "" {
			if rc.Default {
				rc.Level = "" // the default is for those that it suits
				continue
			}
			return command.ReadConcernUnsupported(r.Def.Name, rc.Level, reason)
		}
	}
	if wc.Given && !pipeline.Writes(last) {
		return mongoerr.New(mongoerr.InvalidOptions, "Command does not support writeConcern")
	}
	return nil
}

// stageRefuses tells why a stage does not run with a level; empty where it does.
func stageRefuses(name, level string) string {
	stage := pipeline.Find(name)
	if level == "" || stage == nil {
		return ""
	}
	only := onlyLevel(stage.ReadConcern)
	switch {
	case only != "" && level != only:
		return "Aggregation stage " + name + " cannot run with a readConcern other than '" + only +
			"', or in a multi-document transaction. Current readConcern: " + level
	case level == command.LevelLinearizable && stage.Writes == feature.Yes:
		return name + " cannot be used with a 'linearizable' read concern level"
	default:
		return ""
	}
}

// onlyLevel returns the level that a stage runs with, empty for every level.
func onlyLevel(levels parsing.ReadConcern) string {
	switch levels {
	case parsing.OnlyLocal:
		return command.LevelLocal
	case parsing.OnlyMajority:
		return command.LevelMajority
	default:
		return ""
	}
}
