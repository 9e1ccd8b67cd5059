/** The dashboard and the alerts name metrics and labels that there are, with values that there are. */
import { equal, ok } from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { METRICS, type MetricName } from '#engine/telemetry/catalog.ts'
import { ROOT } from './files.ts'
import { DASHBOARD, dashboardText } from './grafana.ts'

const ALERTS = 'docs/grafana/alerts.yaml'
const text = (path: string) => readFileSync(join(ROOT, path), 'utf8')

/** Of every target, and of a line of a histogram. */
const ANYWHERE = ['instance', 'job', 'le']

/** A metric with its selector and with what is summed around it. */
function check(expression: string, where: string): void {
  const names = expression.match(/\b(?:weir|process|gen_ai|mcp)_[a-z_]+\b(?=[{[ )]|$)/g) ?? []
  const metrics = names.filter((name) => metricOf(name) !== null)
  ok(metrics.length > 0 || expression.startsWith('up{'), `${where}: ${expression}`)
  const known = new Set<string>([...ANYWHERE, ...metrics.flatMap((name) => METRICS[metricOf(name)!].labels)])
  for (const name of names) ok(metricOf(name) !== null || known.has(name), `${where}: there is no metric ${name}`)
  const selected = [...expression.matchAll(/[{,]\s*(\w+)\s*(?:!?=~?|!~)\s*"/g)].map(([, label]) => label!)
  const summed = [...expression.matchAll(/by \(([^)]*)\)/g)].flatMap(([, list]) => list!.split(/,\s*/))
  for (const label of [...selected, ...summed]) ok(known.has(label), `${where}: ${label} is no label: ${expression}`)
}

function metricOf(name: string): MetricName | null {
  const base = [name, name.replace(/_(?:bucket|sum|count)$/, '')].find((one) => Object.hasOwn(METRICS, one))
  return (base as MetricName | undefined) ?? null
}

test('the dashboard is what the program writes, and asks for what there is', () => {
  equal(text(DASHBOARD), dashboardText(), 'node scripts/grafana.ts writes it')
  const { panels } = JSON.parse(text(DASHBOARD)) as { panels: { title: string; targets?: { expr: string }[] }[] }
  let count = 0
  for (const { title, targets = [] } of panels) {
    for (const { expr } of targets) {
      check(expr, title)
      count++
    }
  }
  ok(count >= 20, String(count))
})

test('alerts ask for what there is', () => {
  const { groups } = parse(text(ALERTS)) as { groups: { rules: { alert: string; expr: string }[] }[] }
  const rules = groups.flatMap((group) => group.rules)
  ok(rules.length >= 10)
  for (const { alert, expr } of rules) check(expr, alert)
})
