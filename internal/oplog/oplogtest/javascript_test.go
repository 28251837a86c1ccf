package oplogtest_test

import _ "github.com/sheafdb/sheaf/js" // the tests run JavaScript
