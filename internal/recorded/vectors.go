package recorded

import (
	"bufio"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// Vector is a case of a file of vectors: commands, and the replies of a MongoDB server.
type Vector struct {
	Name string `bson:"name"`
	// Setup has the commands that prepare an empty database. They succeed.
	Setup []bson.Raw `bson:"setup"`
	Run   []Step     `bson:"run"`
	// Unordered means that the documents of a reply have no order.
	Unordered bool `bson:"unordered"`
}

// Step is a command and its reply.
type Step struct {
	Command bson.Raw `bson:"command"`
	// Pick has dotted paths of the reply. If it is not nil, Reply has only these fields.
	Pick  []string `bson:"pick"`
	Reply bson.Raw `bson:"reply"`
}

// Vectors reads an area of the vectors from the folder SHEAF_VECTORS, or from a folder beside the
// repository. The vectors are not part of the repository, and without them the test is skipped.
// Vectors omits cases that are nested deeper than the driver's parser of Extended JSON allows.
func Vectors(t testing.TB, area string) []Vector {
	t.Helper()
	file, err := os.Open(filepath.Join(vectorsDir(t), area+".jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	var vectors []Vector
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<24)
	for lines.Scan() {
		var v Vector
		switch err := bson.UnmarshalExtJSON(lines.Bytes(), false, &v); {
		case err == nil:
			vectors = append(vectors, v)
		case !strings.Contains(err.Error(), "depth"):
			t.Fatalf("%s: %v", area, err)
		}
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return vectors
}

// Areas returns the areas of the vectors. It skips the test if the vectors are missing.
func Areas(t testing.TB) (areas []string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(vectorsDir(t), "*.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		areas = append(areas, strings.TrimSuffix(filepath.Base(file), ".jsonl"))
	}
	return areas
}

func vectorsDir(t testing.TB) string {
	t.Helper()
	dir := os.Getenv("SHEAF_VECTORS")
	if dir == "" {
		dir = "../../../shared/vectors"
	}
	dir = filepath.Join(dir, "cases")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("no vectors")
	}
	return dir
}
