package crud

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/mongoerr"
	"github.com/sheafdb/sheaf/internal/pipeline"
)

// stageLevels are the stages that know one read concern level only.
var stageLevels = map[string]string{
	"$changeStream": command.LevelMajority,
	"$collStats":    command.LevelLocal, "$currentOp": command.LevelLocal, "$indexStats": command.LevelLocal, "$listLocalSessions": command.LevelLocal,
	"$listSessions": command.LevelLocal, "$planCacheStats": command.LevelLocal,
}

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
func stageRefuses(stage, level string) string {
	want, one := stageLevels[stage]
	switch {
	case level == "":
		return ""
	case one && level != want:
		return "Aggregation stage " + stage + " cannot run with a readConcern other than '" + want +
			"', or in a multi-document transaction. Current readConcern: " + level
	case level == command.LevelLinearizable && pipeline.Writes(stage):
		return stage + " cannot be used with a 'linearizable' read concern level"
	default:
		return ""
	}
}
