/** What the resources are called. */
export const GROUP = 'weir.dev'
export const VERSION = 'v1alpha1'
export const API_VERSION = `${GROUP}/${VERSION}`

/** Of the Gateway API. */
export const GATEWAY_GROUP = 'gateway.networking.k8s.io'

/** Of the Gateway API Inference Extension, and what it had before its v1. */
export const INFERENCE_GROUP = 'inference.networking.k8s.io'
export const INFERENCE_GROUP_OLD = 'inference.networking.x-k8s.io'

/** Of statuses that this controller writes (docs/specification.md). */
export const CONTROLLER_NAME = 'weir.dev/gateway-controller'

/** Kubernetes: names of objects (RFC 1123 subdomains), of namespaces (labels), of kinds and of groups. */
export const OBJECT_NAME = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/
export const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/
export const OBJECT_NAME_CHARS_MAX = 253
export const LABEL_CHARS_MAX = 63
