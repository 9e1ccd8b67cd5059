// Prints the tables of the tests of k8s.io/apimachinery/pkg/util/strategicpatch as lines of JSON. Built as a file of that
// package (patch-tables.ts), which alone can see them.
package strategicpatch

import (
	"encoding/json"
	"os"
	"reflect"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

type line struct {
	Name     string          `json:"name"`
	Original json.RawMessage `json:"original"`
	Patch    json.RawMessage `json:"patch"`
	// Absent: the patch is refused.
	Result json.RawMessage `json:"result,omitempty"`
}

type field struct {
	Of       string `json:"of,omitempty"`
	MergeKey string `json:"mergeKey,omitempty"`
	Strategy string `json:"strategy,omitempty"`
}

func TestPrintTables(t *testing.T) {
	out := json.NewEncoder(os.Stdout)
	print := func(name string, original, patch, result []byte, fails bool) {
		if len(patch) == 0 || (len(result) == 0 && !fails) {
			return
		}
		if len(original) == 0 {
			original = []byte("{}")
		}
		if fails {
			result = nil
		}
		if err := out.Encode(line{name, original, patch, result}); err != nil {
			t.Fatal(err)
		}
	}
	raw := func(cases []StrategicMergePatchRawTestCase) {
		for _, c := range cases {
			fails := c.ExpectedError != ""
			original, twoWay, _, modified := twoWayRawTestCaseToJSONOrFail(t, c)
			print(c.Description+", two way", original, twoWay, modified, fails)
			_, _, current, threeWay, result := threeWayRawTestCaseToJSONOrFail(t, c)
			if len(c.Result) > 0 {
				print(c.Description+", three way", current, threeWay, result, fails)
			}
		}
	}
	for _, data := range [][]byte{customStrategicMergePatchTestCaseData, createStrategicMergePatchTestCaseData} {
		cases := StrategicMergePatchTestCases{}
		if err := yaml.Unmarshal(data, &cases); err != nil {
			t.Fatal(err)
		}
		for _, c := range cases.TestCases {
			original, twoWay, _, modified := twoWayTestCaseToJSONOrFail(t, c, mergeItemStructSchema)
			print(c.Description+", two way", original, twoWay, modified, false)
			_, _, current, threeWay, result := threeWayTestCaseToJSONOrFail(t, c, mergeItemStructSchema)
			if len(c.Result) > 0 {
				print(c.Description+", three way", current, threeWay, result, false)
			}
		}
	}
	raw(customStrategicMergePatchRawTestCases)
	raw(strategicMergePatchRawTestCases)
	raw(replaceRawExtensionPatchTestCases)
	definitions := map[string]map[string]field{}
	define(reflect.TypeOf(mergeItem), definitions)
	if err := out.Encode(map[string]any{"definitions": definitions}); err != nil {
		t.Fatal(err)
	}
}

// The tags of a struct, as the gateway's table of definitions says them.
func define(t reflect.Type, definitions map[string]map[string]field) {
	if _, ok := definitions[t.Name()]; ok {
		return
	}
	fields := map[string]field{}
	definitions[t.Name()] = fields
	for i := range t.NumField() {
		f := t.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		one := field{MergeKey: f.Tag.Get("patchMergeKey")}
		for _, strategy := range strings.Split(f.Tag.Get("patchStrategy"), ",") {
			if strategy == "merge" || strategy == "replace" {
				one.Strategy = strategy
			}
		}
		of := f.Type
		for of.Kind() == reflect.Slice || of.Kind() == reflect.Pointer || of.Kind() == reflect.Map {
			of = of.Elem()
		}
		if of.Kind() == reflect.Struct && of.PkgPath() == t.PkgPath() {
			one.Of = of.Name()
			define(of, definitions)
		}
		fields[name] = one
	}
}
