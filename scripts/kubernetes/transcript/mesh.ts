/** Section 2.7: parameters of a class beside those of a Gateway, and a mesh. */
import { applied, askOf, body, code, manifests } from './commands.ts'
import { awaited, type Step, seen } from './steps.ts'

const container = `{range .spec.template.spec.containers[0].env[?(@.value)]}{.name}={.value} {end}{.spec.template.spec.containers[0].resources.requests}`

export const CLASSES: Step = {
  title: '2.7 parameters of the class, and their order',
  text: "Typed fields of the class, then those of the Gateway; then the class's overlay, then the Gateway's. So the Gateway's `TYPED` and `OVERLAY` win, and what only the class says stays; the overlay of the class wins over the typed field `TYPED_BELOW` of the Gateway.",
  files: manifests('classes', 'no-classes'),
  commands: [
    applied('classes'),
    applied('no-classes'),
    awaited(
      `kubectl get gatewayclass lost -o jsonpath='{.status.conditions[?(@.type=="Accepted")].reason}: {.status.conditions[?(@.type=="Accepted")].message}'`,
      /InvalidParameters: .*missing/
    ),
    awaited('kubectl -n chat get gateway team', /team +teams +\S+ +True/),
    awaited('kubectl -n chat get deployment team-teams --show-labels', /only-class=class.*overlay=gateway/),
    seen(
      `kubectl -n chat get deployment team-teams -o jsonpath='${container}'`,
      /^(?=.*ONLY_CLASS=class)(?=.*\bOVERLAY=gateway)(?=.*\bTYPED=gateway)(?=.*TYPED_BELOW=overlay-of-class)(?=.*"cpu":"150m")(?=.*"memory":"400Mi")/
    ),
    seen(`kubectl -n chat logs deployment/team-teams | head -1`, /^(?!\{)/)
  ]
}

export const MESH: Step = {
  title: '2.7 istio',
  text: 'The authority asks the API server about the token that it gets, and signs; the workload takes connections of the mesh alone, and prints who makes them. A Gateway that is not of the mesh speaks clear text, and is not let in.',
  files: manifests('mesh'),
  commands: [
    applied('mesh'),
    awaited('kubectl -n chat get gateway meshed', /meshed +weir +\S+ +True/),
    body('/mesh', '', /^Hello from the mesh\n 200$/, askOf('meshed')),
    body('/outside', '', /GET \/outside[\s\S]*200$/, askOf('meshed')),
    awaited('kubectl -n istio-system logs deployment/istiod', /signs for system:serviceaccount:chat:meshed-weir/),
    awaited(
      'kubectl -n chat logs deployment/workload',
      /a connection of URI:spiffe:\/\/cluster.local\/ns\/chat\/sa\/meshed-weir/
    ),
    code('/mesh', '', /502/, askOf('wide'))
  ]
}
