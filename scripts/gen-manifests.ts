/**
 * Writes the rules of RBAC of the chart (scripts/package/chart) and, of the chart, the plain manifests for those who
 * have no helm: npm run manifests. Needs Go, for helm.
 */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Document, visit } from 'yaml'
import { CLUSTER_RULES, OWN_RULES, type Rule } from '#engine/kubernetes/controller/rules.ts'
import { CHART, NAMESPACE, template } from './helm.ts'

export const MANIFESTS_FILE = join(import.meta.dirname, 'package', 'kubernetes.yaml')

const MADE = '# Made by "npm run manifests" from'

const HEADER = `${MADE} scripts/package/chart: change that.
---
apiVersion: v1
kind: Namespace
metadata:
  name: ${NAMESPACE}
`

/** Files of the chart: what the controller may do, as its code says. */
export function ruleFiles(): ReadonlyMap<string, string> {
  const text = (rules: readonly Rule[]) =>
    `${MADE} engine/kubernetes/controller/rules.ts: change that.\n${listOf(rules)}`
  return new Map([
    [join(CHART, 'rules', 'cluster.yaml'), text(CLUSTER_RULES)],
    [join(CHART, 'rules', 'own.yaml'), text(OWN_RULES)]
  ])
}

/** One line for each field of a rule. */
function listOf(rules: readonly Rule[]): string {
  const document = new Document(rules, { aliasDuplicateObjects: false })
  visit(document, {
    Seq(key, list) {
      list.flow = key !== null
    }
  })
  return document.toString({ lineWidth: 0, flowCollectionPadding: false })
}

/** Without the marks of helm, which does not manage these. */
export function plainManifests(): string {
  return HEADER + template().replaceAll('app.kubernetes.io/managed-by: Helm', 'app.kubernetes.io/managed-by: kubectl')
}

if (import.meta.main) {
  for (const [file, text] of ruleFiles()) writeFileSync(file, text)
  writeFileSync(MANIFESTS_FILE, plainManifests())
}
