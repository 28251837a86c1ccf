package metamorphic

import _ "github.com/sheafdb/sheaf/js" // the tests run JavaScript
