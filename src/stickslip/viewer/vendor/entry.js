// What the page needs of three.js and uPlot. Renew the bundle with the commands in README.md of this folder.
export {
  AmbientLight, BoxGeometry, BufferAttribute, BufferGeometry, CanvasTexture, CircleGeometry, Color, ConeGeometry, CylinderGeometry,
  DirectionalLight, DoubleSide, DynamicDrawUsage, Float32BufferAttribute, Group, HemisphereLight, InstancedMesh, Line, LineBasicMaterial,
  LineSegments, Matrix4, Mesh, MeshBasicMaterial, MeshLambertMaterial, MeshStandardMaterial, PCFShadowMap, PerspectiveCamera, PlaneGeometry, Quaternion,
  Raycaster, RepeatWrapping, Scene, ShadowMaterial, ShapeUtils, SphereGeometry, SRGBColorSpace, TorusGeometry, Vector2, Vector3,
  WebGLRenderer,
} from "three";
export { OrbitControls } from "three/examples/jsm/controls/OrbitControls.js";
export { Line2 } from "three/examples/jsm/lines/Line2.js";
export { LineGeometry } from "three/examples/jsm/lines/LineGeometry.js";
export { LineMaterial } from "three/examples/jsm/lines/LineMaterial.js";
export { default as uPlot } from "uplot";
