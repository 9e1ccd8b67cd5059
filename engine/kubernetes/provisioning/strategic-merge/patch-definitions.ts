/** From the OpenAPI of Kubernetes v1.34.4, by "node scripts/kubernetes/patch-definitions.ts". */
import type { PatchDefinitions } from './patch-schema.ts'

export const PATCH_DEFINITIONS: PatchDefinitions = {
  'io.k8s.api.apps.v1.Deployment': {
    metadata: { of: 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' },
    spec: { of: 'io.k8s.api.apps.v1.DeploymentSpec' },
    status: { of: 'io.k8s.api.apps.v1.DeploymentStatus' }
  },
  'io.k8s.api.apps.v1.DeploymentSpec': { template: { of: 'io.k8s.api.core.v1.PodTemplateSpec' } },
  'io.k8s.api.apps.v1.DeploymentStatus': { conditions: { mergeKey: 'type', strategy: 'merge' } },
  'io.k8s.api.autoscaling.v2.HorizontalPodAutoscaler': {
    metadata: { of: 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' },
    status: { of: 'io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus' }
  },
  'io.k8s.api.autoscaling.v2.HorizontalPodAutoscalerStatus': { conditions: { mergeKey: 'type', strategy: 'merge' } },
  'io.k8s.api.core.v1.ConfigMap': { metadata: { of: 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' } },
  'io.k8s.api.core.v1.Container': {
    env: { mergeKey: 'name', strategy: 'merge' },
    ports: { mergeKey: 'containerPort', strategy: 'merge' },
    volumeDevices: { mergeKey: 'devicePath', strategy: 'merge' },
    volumeMounts: { mergeKey: 'mountPath', strategy: 'merge' }
  },
  'io.k8s.api.core.v1.EphemeralContainer': {
    env: { mergeKey: 'name', strategy: 'merge' },
    ports: { mergeKey: 'containerPort', strategy: 'merge' },
    volumeDevices: { mergeKey: 'devicePath', strategy: 'merge' },
    volumeMounts: { mergeKey: 'mountPath', strategy: 'merge' }
  },
  'io.k8s.api.core.v1.EphemeralVolumeSource': {
    volumeClaimTemplate: { of: 'io.k8s.api.core.v1.PersistentVolumeClaimTemplate' }
  },
  'io.k8s.api.core.v1.PersistentVolumeClaimTemplate': {
    metadata: { of: 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' }
  },
  'io.k8s.api.core.v1.PodSpec': {
    containers: { mergeKey: 'name', strategy: 'merge', of: 'io.k8s.api.core.v1.Container' },
    ephemeralContainers: { mergeKey: 'name', strategy: 'merge', of: 'io.k8s.api.core.v1.EphemeralContainer' },
    hostAliases: { mergeKey: 'ip', strategy: 'merge' },
    imagePullSecrets: { mergeKey: 'name', strategy: 'merge' },
    initContainers: { mergeKey: 'name', strategy: 'merge', of: 'io.k8s.api.core.v1.Container' },
    resourceClaims: { mergeKey: 'name', strategy: 'merge' },
    schedulingGates: { mergeKey: 'name', strategy: 'merge' },
    topologySpreadConstraints: { mergeKey: 'topologyKey', strategy: 'merge' },
    volumes: { mergeKey: 'name', strategy: 'merge', of: 'io.k8s.api.core.v1.Volume' }
  },
  'io.k8s.api.core.v1.PodTemplateSpec': {
    metadata: { of: 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' },
    spec: { of: 'io.k8s.api.core.v1.PodSpec' }
  },
  'io.k8s.api.core.v1.Service': {
    metadata: { of: 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' },
    spec: { of: 'io.k8s.api.core.v1.ServiceSpec' },
    status: { of: 'io.k8s.api.core.v1.ServiceStatus' }
  },
  'io.k8s.api.core.v1.ServiceAccount': {
    metadata: { of: 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' },
    secrets: { mergeKey: 'name', strategy: 'merge' }
  },
  'io.k8s.api.core.v1.ServiceSpec': { ports: { mergeKey: 'port', strategy: 'merge' } },
  'io.k8s.api.core.v1.ServiceStatus': { conditions: { mergeKey: 'type', strategy: 'merge' } },
  'io.k8s.api.core.v1.Volume': { ephemeral: { of: 'io.k8s.api.core.v1.EphemeralVolumeSource' } },
  'io.k8s.api.policy.v1.PodDisruptionBudget': {
    metadata: { of: 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta' },
    spec: { of: 'io.k8s.api.policy.v1.PodDisruptionBudgetSpec' },
    status: { of: 'io.k8s.api.policy.v1.PodDisruptionBudgetStatus' }
  },
  'io.k8s.api.policy.v1.PodDisruptionBudgetSpec': { selector: { strategy: 'replace' } },
  'io.k8s.api.policy.v1.PodDisruptionBudgetStatus': { conditions: { mergeKey: 'type', strategy: 'merge' } },
  'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta': {
    finalizers: { strategy: 'merge' },
    ownerReferences: { mergeKey: 'uid', strategy: 'merge' }
  }
}
