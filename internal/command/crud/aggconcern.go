package crud

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
	"github.com/sheafdb/sheaf/internal/pipeline/parsing"
)

// CheckConcerns returns an error if the stages of a pipeline do not support the read concern, or if
// no stage writes and a write concern is given. The stages must compile.
func CheckConcerns(r *command.Request, stages bsonx.Value) error {
	rc, wc := &r.Generic.ReadConcern, &r.Generic.WriteConcern
	if !wc.Given && rc.Level == "" {
		return nil
	}
	for it := stages.Doc().Iter(); it.Next(); {
		if reason := stageRefuses(string(it.Value().Doc().First().Key), rc.Level); reason != "" {
			if rc.Default {
				rc.Level = "" // a default level is dropped where it is not supported
				continue
			}
			return command.ReadConcernUnsupported(r.Def.Name, rc.Level, reason)
		}
	}
	if wc.Given && !pipeline.LastWrites(stages) {
		return mongoerr.New(mongoerr.InvalidOptions, "Command does not support writeConcern")
	}
	return nil
}

// stageRefuses returns the reason why a stage does not run with a read concern level, or "" if it
// does.
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

// onlyLevel returns the only read concern level that a stage accepts, or "" if it accepts all.
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
