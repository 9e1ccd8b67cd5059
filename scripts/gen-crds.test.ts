import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { backends } from '#backends/index.ts'
import { crdOf } from '#engine/kubernetes/crds/crd.ts'
import { resourcesOf } from '#engine/kubernetes/resources/index.ts'
import { structureProblems } from '#engine/kubernetes/testing/structure.ts'
import { policies } from '#policies/index.ts'
import { crdFiles } from './gen-crds.ts'

test('the CRDs and their page are those of the code (npm run schema writes them)', () => {
  for (const [file, text] of crdFiles()) {
    assert.ok(readFileSync(file, 'utf8') === text, `${file.pathname} is not fresh`)
  }
})

test('their schemas are structural', () => {
  for (const resource of resourcesOf(policies, backends)) {
    const [version] = crdOf(resource).spec.versions
    const { spec, status } = version!.schema.openAPIV3Schema.properties
    const problems = [...structureProblems(spec, 'spec'), ...structureProblems(status, 'status')]
    assert.deepEqual(problems, [], resource.kind)
  }
})

test('API servers keep them: etcd takes 1.5 MB, and kubectl apply notes 256 KiB', () => {
  for (const resource of resourcesOf(policies, backends)) {
    const bytes = Buffer.byteLength(JSON.stringify(crdOf(resource)))
    assert.ok(bytes < 256 * 1024, `${resource.kind}: ${bytes} bytes`)
  }
})
