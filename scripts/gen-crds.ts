/** Writes the CRDs of the resources, and the tables of their page: npm run schema. */

import { readFileSync, writeFileSync } from 'node:fs'
import { stringify } from 'yaml'
import { backends } from '#backends/index.ts'
import { crdOf } from '#engine/kubernetes/crds/crd.ts'
import { CRDS_FOLDER, HEADER } from '#engine/kubernetes/crds/files.ts'
import { resourcesOf } from '#engine/kubernetes/resources/index.ts'
import { policies } from '#policies/index.ts'
import { PAGE_FILE, resourcesPage } from './crd-page.ts'

/** Texts by files. */
export function crdFiles(): ReadonlyMap<URL, string> {
  const resources = resourcesOf(policies, backends)
  const files = resources.map((resource) => {
    // Without aliases: a schema that stands in several places is written in each.
    const text = stringify(crdOf(resource), { lineWidth: 118, aliasDuplicateObjects: false })
    return [new URL(`${resource.plural}.yaml`, CRDS_FOLDER), HEADER + text] as const
  })
  const page = resourcesPage(readFileSync(PAGE_FILE, 'utf8'), resources)
  return new Map([...files, [PAGE_FILE, page]])
}

if (import.meta.main) {
  for (const [file, text] of crdFiles()) writeFileSync(file, text)
}
