package adversarial

import (
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
	"go.mongodb.org/mongo-driver/v2/mongo"

	"github.com/sheafdb/sheaf/internal/bsonx/bsonxtest"
	"github.com/sheafdb/sheaf/internal/feature"
	"github.com/sheafdb/sheaf/internal/pipeline"
)

// tiny is the scale at which attacks run to their end.
const tiny scale = 1_000_000

// few returns the same stages as endless, but they make only four documents.
func few() string {
	return strings.NewReplacer("[0, 1000000]", "[0, 2]", "[0, 1000]", "[0, 2]").Replace(endless())
}

// TestAttacksReachStages explains the attacks on stages, with small values. In each attack, the
// attacked stage must get documents. An attack that the server refuses proves nothing. Neither does
// an attack that the optimiser makes trivial, for example by moving a $match before the stage.
func TestAttacksReachStages(t *testing.T) {
	t.Parallel()
	db := newLarge(t, tiny)
	all := stageAttacks(tiny)
	for _, st := range pipeline.Stages() {
		if st.Status != feature.Supported {
			continue
		}
		attacks := all[st.Name]
		for _, stages := range attacks.endless {
			mustReach(t, db, st.Name, blockingText(stages, few()))
		}
		for _, stages := range attacks.first {
			mustReach(t, db, st.Name, firstCommand(stages))
		}
		for _, stages := range attacks.large {
			mustReach(t, db, st.Name, overEach(ending(stages)...)...)
		}
	}
	for _, stage := range largeStages(tiny) {
		name, _, _ := strings.Cut(stage[2:], `"`)
		mustReach(t, db, name, largeCommand("numbers", stage), largeCommand("object", stage))
	}
}

// TestTrivialAttacks checks that reaches recognises attacks that compute nothing.
func TestTrivialAttacks(t *testing.T) {
	t.Parallel()
	db := newLarge(t, tiny)
	for _, stages := range []string{
		`{"$set": {"x": 1}}, {"$match": {"nosuch": 1}}`, `{"$unwind": "$v"}, {"$sort": {"v": 1}}, {"$match": {"nosuch": 1}}`,
		`{"$limit": 1}, {"$skip": 1}, {"$set": {"x": 1}}`, `{"$nosuch": 1}`,
	} {
		if reaches(t, db, "$set", over("numbers", stages)) == "" {
			t.Errorf("%s counts as an attack", stages)
		}
	}
}

// overEach returns the pipeline over the document of each kind.
func overEach(stages ...string) []string {
	var out []string
	for _, kind := range stageKinds {
		out = append(out, over(kind, stages...))
	}
	return out
}

// mustReach fails if none of the commands of an attack computes the stage.
func mustReach(t *testing.T, db *mongo.Database, stage string, cmds ...string) {
	t.Helper()
	var why string
	for _, cmd := range cmds {
		if why = reaches(t, db, stage, cmd); why == "" {
			return
		}
	}
	t.Errorf("%s: %.300s: %s", stage, cmds[0], why)
}

// noUniqueIndex is the error code of a $merge on fields without a unique index. Such a $merge is
// still an attack, because reading the list of fields takes long.
const noUniqueIndex = 51183

// explained is the part of a reply of explain that shows how many documents were read.
type explained struct {
	Stages         []bson.Raw
	ExecutionStats struct{ TotalDocsExamined int64 }
}

// reaches returns the reason why no document reaches the stage in a command, or "" if one does.
func reaches(t *testing.T, db *mongo.Database, stage, cmd string) string {
	t.Helper()
	var reply explained
	if stage == "$merge" || stage == "$out" { // explain does not run these stages
		if code, message := run(t, db, bsonxtest.ParseD(t, cmd)); code != 0 && code != noUniqueIndex {
			return message
		}
		return ""
	}
	err := db.RunCommand(t.Context(),
		bson.D{
			{"explain", bsonxtest.ParseD(t, cmd)},
			{"verbosity", "executionStats"},
		}).Decode(&reply)
	if err != nil {
		return err.Error()
	}
	examined, last, filtered := reply.ExecutionStats.TotalDocsExamined, int64(0), false
	for i, st := range reply.Stages {
		if cursor, ok := st.Index(0).Value().DocumentOK(); i == 0 && ok {
			examined, _ = cursor.Lookup("executionStats", "totalDocsExamined").AsInt64OK()
		}
		filtered = filtered || st.Index(0).Key() == stage && last > 0
		if i < len(reply.Stages)-1 {
			last, _ = st.Lookup("nReturned").AsInt64OK()
		}
	}
	isFilter := stage == "$match" || stage == "$skip" // these stages may return no documents
	if last > 0 || isFilter && (filtered || examined > 0) || len(reply.Stages) == 0 && examined > 0 {
		return ""
	}
	return "no document reaches the last stage"
}
