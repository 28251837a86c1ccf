package ddl

import (
	"github.com/sheafdb/sheaf/internal/bsonx"
	"github.com/sheafdb/sheaf/internal/catalog"
	"github.com/sheafdb/sheaf/internal/command"
	"github.com/sheafdb/sheaf/internal/mongoerr"
)

// imagesOption is the option that makes change streams return documents as they were before and
// after a change.
const imagesOption = "changeStreamPreAndPostImages"

var imagesFields = []command.Field{{Name: "enabled", Type: command.Bool, Required: true}}

// checkImages checks the option changeStreamPreAndPostImages of create, which may turn it off for a
// view.
func checkImages(req *command.Request) error { return checkImagesOf(req, false) }

// checkModifiedImages checks the option of collMod, which never allows it for a view.
func checkModifiedImages(req *command.Request) error { return checkImagesOf(req, true) }

func checkImagesOf(req *command.Request, neverOnViews bool) error {
	v := req.Get(imagesOption)
	if v.IsMissing() {
		return nil
	}
	enabled := false
	err := command.ParseFields(req.Def.Name+"."+imagesOption, v.Doc(), imagesFields, func(_ int, v bsonx.Value) error {
		enabled = v.Truthy()
		return nil
	})
	if err != nil {
		return err
	}
	switch {
	case req.Has("viewOn") && (enabled || neverOnViews):
		return mongoerr.New(mongoerr.InvalidOptions, "option not supported on a view: %s", imagesOption)
	case !enabled:
	case catalog.IsInternalDatabase(req.DB):
		return mongoerr.New(mongoerr.InvalidOptions,
			"%s option is not supported on the internal database %s", imagesOption, req.DB)
	case req.Has("timeseries"):
		return mongoerr.New(mongoerr.InvalidOptions,
			"%s option is not supported on time-series collections", imagesOption)
	}
	return nil
}

// imagesEnabled reports whether create or collMod turns the images on.
func imagesEnabled(req *command.Request) bool {
	doc := req.Doc(imagesOption)
	return doc != nil && doc.Lookup("enabled").Truthy()
}

// modifyImages returns the options with the changeStreamPreAndPostImages that collMod sets, and
// whether it sets it. The option is stored only if it is enabled.
func modifyImages(req *command.Request, options bsonx.Doc) (bsonx.Doc, bool) {
	switch {
	case !req.Has(imagesOption):
		return options, false
	case !imagesEnabled(req):
		return options.With(imagesOption, bsonx.Missing), true
	default:
		return options.With(imagesOption, bsonx.Document(bsonx.NewDoc("enabled", true))), true
	}
}
