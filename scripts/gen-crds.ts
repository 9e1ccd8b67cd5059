/** Writes the CRDs of the resources: npm run schema. */

import { writeFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { backends } from '#backends/index.ts'
import { crdOf } from '#engine/kubernetes/crds/crd.ts'
import { CRDS_FOLDER, HEADER } from '#engine/kubernetes/crds/files.ts'
import { resourcesOf } from '#engine/kubernetes/resources/index.ts'
import { policies } from '#policies/index.ts'

/** Texts by names of files. */
export function crdFiles(): ReadonlyMap<string, string> {
  const files = resourcesOf(policies, backends).map((resource) => {
    // Without aliases: a schema that stands in several places is written in each.
    const text = stringify(crdOf(resource), { lineWidth: 118, aliasDuplicateObjects: false })
    return [`${resource.plural}.yaml`, HEADER + text] as const
  })
  return new Map(files)
}

if (import.meta.main) {
  for (const [name, text] of crdFiles()) writeFileSync(new URL(name, CRDS_FOLDER), text)
}
